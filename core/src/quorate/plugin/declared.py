"""Asks each plugin for its declarations, through hooks that are typed here and nowhere else."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Final, TypeVar

import pluggy
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from quorate.plugin import hookspecs
from quorate.plugin.access import Access
from quorate.plugin.declarations import (
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Items,
    Metric,
    Query,
    RaftGroup,
    Timer,
)
from quorate.plugin.discovery import Plugin
from quorate.plugin.markers import PROJECT
from quorate.plugin.nearness import meant, repair_of
from quorate.plugin.node import NodeApi
from quorate.plugin.places import place_in, place_of_error, place_of_hook
from quorate.plugin.problems import PluginProblem
from quorate.plugin.resource import Derived, Resource, derive
from quorate.plugin.resource.declaration import History, Ttl
from quorate.plugin.rows.plugin import Plugin as RowPlugin
from quorate.plugin.rows.shapes import Misdeclared

_VALUES: Final[dict[str, type[object]]] = {"str": str, "int": int, "bool": bool}
_CLASSES: Final[dict[str, type[object]]] = {
    "type[M]": Message,
    "type[Message]": Message,
    "type[object]": object,
}
#: What stands for itself, with a type in brackets or without.
_INSTANCES: Final[dict[str, type[object]]] = {
    "Resource": Resource,
    "Mapping": Mapping,
    "ServiceDescriptor": ServiceDescriptor,
    "Access": Access,
    "Ttl": Ttl,
    "History": History,
    "Items": Items,
}


def misfits(declaration: Any) -> Iterator[tuple[str, str]]:
    """Yield a fault and a fix for each field with a value of another type.

    The check is shallow: the items of a tuple are left to the type checker.
    """
    kind = type(declaration).__name__
    for field in fields(declaration):
        wanted, value = str(field.type), getattr(declaration, field.name)
        if not _fits(wanted, value):
            fix = f"give it {field.name}: {wanted}"
            if wanted.startswith("Literal[") and isinstance(value, str):
                fix = meant(value, _words(wanted))
            yield f"a {kind} has {field.name}={value!r}", fix


def _words(literal: str) -> list[str]:
    return re.findall(r"[\"'](\w+)[\"']", literal)


def _fits(wanted: str, value: object) -> bool:
    if value is None:
        return wanted == "object" or wanted.endswith("| None")
    wanted = wanted.removesuffix(" | None")
    if wanted.startswith("Callable["):
        return callable(value)
    if wanted.startswith("tuple["):
        return isinstance(value, tuple)
    if wanted == "type[BaseModel]":
        # A client starts without it.
        from pydantic import BaseModel

        return isinstance(value, type) and issubclass(value, BaseModel)
    if wanted.startswith("Literal["):
        return value in _words(wanted)
    if wanted in _CLASSES or wanted.startswith("type[R]"):
        if not isinstance(value, type) or not issubclass(value, _CLASSES.get(wanted, Message)):
            return False
        # `Message` itself describes nothing.
        return not issubclass(value, Message) or value.DESCRIPTOR is not None
    kind = _INSTANCES.get(wanted.partition("[")[0], object)
    return isinstance(value, _VALUES.get(wanted, kind))


D = TypeVar("D")

Lifespan = Callable[[NodeApi], AbstractAsyncContextManager[None]]

#: Order is a field of a declaration where it matters, never an option of an implementation.
_REFUSED_OPTIONS: Final = (
    "tryfirst",
    "trylast",
    "hookwrapper",
    "wrapper",
    "optionalhook",
    "specname",
)
_LIFESPAN: Final = "quorate_lifespan"
_RESOURCES: Final = "quorate_resources"
_ANY: Final = "quorate_declarations"
#: What each hook returns, in the order in which they are called.
_KINDS: Final[Mapping[str, tuple[type[object], ...]]] = {
    _ANY: (
        *(RaftGroup, ColumnFamily, Resource, Command, DataRoute, Query, Cache, Controller, Timer),
        *(GrpcService, Metric, ConfigSection, CliCommand, ExtensionPoint, Extension),
    ),
    "quorate_raft_groups": (RaftGroup,),
    "quorate_column_families": (ColumnFamily,),
    _RESOURCES: (Resource,),
    "quorate_commands": (Command,),
    "quorate_data_routes": (DataRoute,),
    "quorate_queries": (Query,),
    "quorate_caches": (Cache,),
    "quorate_controllers": (Controller, Timer),
    "quorate_grpc_services": (GrpcService,),
    "quorate_metrics": (Metric,),
    "quorate_config_sections": (ConfigSection,),
    "quorate_cli_commands": (CliCommand,),
    "quorate_extensions": (ExtensionPoint, Extension),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """All that one plugin declares."""

    plugin: Plugin
    groups: tuple[RaftGroup, ...] = ()
    #: What they derive is among the rest.
    resources: tuple[Resource[Any], ...] = ()
    families: tuple[ColumnFamily, ...] = ()
    commands: tuple[Command[Any], ...] = ()
    routes: tuple[DataRoute[Any], ...] = ()
    queries: tuple[Query[Any], ...] = ()
    caches: tuple[Cache, ...] = ()
    controllers: tuple[Controller, ...] = ()
    timers: tuple[Timer, ...] = ()
    services: tuple[GrpcService, ...] = ()
    metrics: tuple[Metric, ...] = ()
    sections: tuple[ConfigSection, ...] = ()
    cli_commands: tuple[CliCommand, ...] = ()
    points: tuple[ExtensionPoint, ...] = ()
    extensions: tuple[Extension, ...] = ()
    lifespan: Lifespan | None = None
    problems: tuple[PluginProblem, ...] = ()
    #: The hooks with a missing or partial answer: checks that depend on them are skipped.
    failed: frozenset[str] = frozenset()

    @property
    def level(self) -> int:
        """The highest level that any of its commands needs."""
        return max((command.level for command in self.commands), default=1)


def declare(plugin: Plugin) -> Declared:
    """Call the plugin's hooks, once each; failures are among the `problems` of the result.

    The order of the calls is that of the reference; `quorate_lifespan` is left to the node.
    """
    if plugin.module is None:
        return Declared(plugin=plugin, problems=plugin.problems, failed=frozenset(hook_names()))
    hooks = _Hooks(plugin, plugin.module)
    found = [item for hook, kinds in _KINDS.items() for item in hooks.ask(hook, *kinds)]
    resources = _only(Resource, found)
    derived = hooks.derived(resources)
    commands = (*_only(Command, found), *derived.commands)
    return Declared(
        plugin=plugin,
        groups=_only(RaftGroup, found),
        resources=resources,
        families=(*_only(ColumnFamily, found), *derived.families),
        commands=commands,
        routes=(*_only(DataRoute, found), *_routes(commands)),
        queries=(*_only(Query, found), *derived.queries),
        caches=_only(Cache, found),
        controllers=(*_only(Controller, found), *derived.controllers),
        timers=(*_only(Timer, found), *derived.timers),
        services=(*_only(GrpcService, found), *derived.services),
        metrics=_only(Metric, found),
        sections=_only(ConfigSection, found),
        cli_commands=_only(CliCommand, found),
        points=_only(ExtensionPoint, found),
        extensions=(*_only(Extension, found), *derived.extensions),
        lifespan=hooks.lifespan if _LIFESPAN in hooks.implemented else None,
        problems=(*plugin.problems, *hooks.problems),
        failed=frozenset(hooks.failed),
    )


def _routes(commands: Sequence[Command[Any]]) -> Iterator[DataRoute[Any]]:
    for each in commands:
        if each.apply is not None:
            yield DataRoute(message=each.message, apply=each.apply, reads=each.reads)


def hook_names() -> tuple[str, ...]:
    """Return the names of the hooks, in the order of the reference."""
    return tuple(name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_"))


class _Hooks:
    """The hook implementations of one plugin: each is registered, and later called, alone."""

    def __init__(self, plugin: Plugin, module: ModuleType) -> None:
        self.plugin: Final = plugin
        self.problems: Final[list[PluginProblem]] = []
        self.implemented: Final[set[str]] = set()
        self.failed: Final[set[str]] = set()
        self._host: Final = pluggy.PluginManager(PROJECT)
        self._host.add_hookspecs(hookspecs)
        for name in dir(module):
            self._take(module, name)
        for app in vars(module).values():
            if isinstance(app, RowPlugin) and app.module == module.__name__:
                self._take_all(app)

    def ask(self, hook: str, *kinds: type[object]) -> tuple[object, ...]:
        """Call one hook and return those items of its answer that are usable."""
        if hook not in self.implemented:
            return ()
        try:
            answer = self._call(hook)
        except Misdeclared as found:
            self._fail(hook, found.what, found.fix, found)
            return ()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a hook raises is reported
            self._fail(
                hook,
                f"{hook} raised {type(error).__name__}: {error}",
                repair_of(error, "repair the hook"),
                error,
                place_of_error(error),
            )
            return ()
        named = "declarations" if hook == _ANY else " and ".join(each.__name__ for each in kinds)
        wanted = f"a list or tuple of {named}"
        if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
            self._fail(hook, f"{hook} returned {type(answer).__name__}", f"return {wanted}")
            return ()
        usable = []
        for item in answer:
            if not isinstance(item, kinds):
                what = f"{hook} returned an item of type {type(item).__name__}"
                self._fail(hook, what, f"return {wanted}")
            elif wrong := list(misfits(item)):
                for what, fix in wrong:
                    self._fail(hook, f"{hook}: {what}", fix, where=getattr(item, "where", ""))
            else:
                usable.append(item)
        return tuple(usable)

    def derived(self, resources: Sequence[Resource[Any]]) -> Derived:
        """Return the declarations derived from resources, and record their problems."""
        if not resources:
            return Derived()
        places = [(f"resource {each.family}", each.where) for each in resources]
        try:
            found = derive(self.plugin.name, resources)
        except Exception as error:  # noqa: BLE001 - what a check cannot foresee is reported, too
            said = f"resources cannot be derived: {type(error).__name__}: {error}"
            where = place_of_error(error) or places[0][1]
            self._fail(_RESOURCES, said, "correct the declaration", error, where)
            return Derived()
        for what, fix in dict.fromkeys(found.problems):
            self._fail(_RESOURCES, what, fix, where=place_in(places, what) or places[0][1])
        return found

    def lifespan(self, node: NodeApi) -> AbstractAsyncContextManager[None]:
        """Call the one hook that a node calls; raises `PluginProblem` for a wrong answer."""
        answer = self._call(_LIFESPAN, node=node)
        if not isinstance(answer, AbstractAsyncContextManager):
            raise self.plugin.problem(
                f"{_LIFESPAN} returned {type(answer).__name__}",
                "decorate it with @asynccontextmanager",
            )
        return answer

    def _take_all(self, app: RowPlugin) -> None:
        """Register the hooks of an object that holds a plugin's declarations."""
        if app.name != self.plugin.name:
            fix = f"write Plugin({self.plugin.name!r})"
            self._fail(_ANY, f"its Plugin is named {app.name!r}, and its entry point is not", fix)
        for name in (_ANY, _LIFESPAN):
            if name in self.implemented:
                fix = "leave it to Plugin: app.include(...), @app.lifespan"
                self._fail(name, f"{name} is declared by the module and by its Plugin", fix)
            else:
                self._take(app, name)

    def _take(self, module: object, name: str) -> None:
        """Register an attribute of the module, if it is or was meant to be a hook."""
        function = getattr(module, name)
        options = self._host.parse_hookimpl_opts(module, name)
        if options is None:
            if name in hook_names() and callable(function):
                self._fail(name, f"{name} is not marked as a hook", "decorate it with @hookimpl")
            return
        if refused := [option for option in _REFUSED_OPTIONS if options.get(option)]:
            what = f"{name} uses the hook option {' and '.join(refused)}"
            self._fail(options["specname"] or name, what, "use plain @hookimpl")
        elif name not in hook_names():
            near = difflib.get_close_matches(name, hook_names(), n=1)
            meant = (
                f"did you mean {near[0]}?" if near else f"the hooks are {', '.join(hook_names())}"
            )
            self._fail(
                near[0] if near else name, f"{name} is not a hook", f"rename or remove it; {meant}"
            )
        elif inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            fix = "decorate it with @asynccontextmanager" if name == _LIFESPAN else "use plain def"
            self._fail(name, f"{name} is an async function", fix)
        else:
            # Registered alone: pluggy stops at the first implementation that it refuses.
            alone = ModuleType(self.plugin.name)
            setattr(alone, name, function)
            try:
                self._host.register(alone, name=name)
            except pluggy.PluginValidationError:
                arguments = ", ".join(inspect.signature(getattr(hookspecs, name)).parameters)
                self._fail(
                    name,
                    f"{name}{inspect.signature(function)} asks for more than the hook gives",
                    f"define it as {name}({arguments})",
                )
            else:
                self.implemented.add(name)

    def _call(self, hook: str, **arguments: object) -> object:
        answers: list[object] = getattr(self._host.hook, hook)(**arguments)
        # pluggy leaves out an answer that is None.
        return answers[0] if answers else None

    def _fail(
        self,
        hook: str,
        what: str,
        fix: str,
        cause: BaseException | None = None,
        where: str = "",
    ) -> None:
        # What it returns may be of any kind.
        self.failed.update(_KINDS if hook == _ANY else (hook,))
        # A misdeclared row class says its place itself.
        if not where and not isinstance(cause, Misdeclared):
            where = place_of_hook(getattr(self.plugin.module, hook, None))
        self.problems.append(self.plugin.problem(what, fix, cause, where))


def _only(kind: type[D], items: Sequence[object]) -> tuple[D, ...]:
    return tuple(item for item in items if isinstance(item, kind))
