"""Asks each plugin for its declarations, through hooks that are typed here and nowhere else."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Final, get_args, get_origin

import pluggy
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from quorate.plugin import declarations as given, hookspecs
from quorate.plugin.access import Access
from quorate.plugin.discovery import Plugin
from quorate.plugin.hookspecs import Declaration
from quorate.plugin.kinds import OfKind
from quorate.plugin.markers import PROJECT
from quorate.plugin.nearness import meant, repair_of
from quorate.plugin.node import NodeApi
from quorate.plugin.problems import PluginProblem
from quorate.plugin.resource import Resource, declaration as parts, derive
from quorate.plugin.rows.plugin import Plugin as RowPlugin
from quorate.plugin.rows.shapes import Misdeclared
from quorate.plugin.source_lines import place_in, place_of_error, place_of_hook

_VALUES: Final[dict[str, type[object]]] = {"str": str, "int": int, "bool": bool}
_CLASSES: Final[dict[str, type[object]]] = {
    "type[M]": Message,
    "type[Message]": Message,
    "type[object]": object,
}
#: The parts of declarations.
_RECORDS: Final = (
    *(parts.Serving, parts.Storage, parts.Life, parts.View, parts.Ttl, parts.History),
    *(parts.Verb, parts.Item, parts.Admission, parts.Checks),
)
#: What stands for itself, with a type in brackets or without.
_INSTANCES: Final[dict[str, type[object]]] = {
    "Resource": Resource,
    "Mapping": Mapping,
    "ServiceDescriptor": ServiceDescriptor,
    "Access": Access,
    "Items": given.Items,
    **{each.__name__: each for each in _RECORDS},
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
        elif isinstance(value, _RECORDS):
            yield from misfits(value)


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
_DECLARATIONS: Final = "quorate_declarations"
_WANTED: Final = "return a list or tuple of declarations"
#: The hooks of single kinds, which plugins of former releases have.
_FORMER: Final = frozenset(
    f"{PROJECT}_{kind}"
    for kind in (
        *("raft_groups", "column_families", "resources", "commands", "data_routes", "queries"),
        *("caches", "controllers", "grpc_services", "metrics", "config_sections"),
        *("cli_commands", "extensions"),
    )
)
#: The kinds of declarations; each item of what a plugin returns is one of them.
_KINDS: Final = tuple(get_origin(each) or each for each in get_args(Declaration))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """All that one plugin declares."""

    plugin: Plugin
    #: What it returns, and then what its resources derive.
    all: tuple[object, ...] = ()
    lifespan: Lifespan | None = None
    problems: tuple[PluginProblem, ...] = ()
    #: False: declarations may be missing, and checks that depend on them are skipped.
    complete: bool = True

    groups = OfKind(given.RaftGroup)
    resources = OfKind(Resource)
    families = OfKind(given.ColumnFamily)
    commands = OfKind(given.Command)
    queries = OfKind(given.Query)
    caches = OfKind(given.Cache)
    controllers = OfKind(given.Controller)
    timers = OfKind(given.Timer)
    services = OfKind(given.GrpcService)
    metrics = OfKind(given.Metric)
    sections = OfKind(given.ConfigSection)
    cli_commands = OfKind(given.CliCommand)
    points = OfKind(given.ExtensionPoint)
    extensions = OfKind(given.Extension)

    @property
    def level(self) -> int:
        """The highest level that any of its commands needs."""
        return max((command.level for command in self.commands), default=1)


def declare(plugin: Plugin) -> Declared:
    """Ask the plugin for its declarations, once; failures are among the `problems` of the result.

    `quorate_lifespan` is left to the node.
    """
    if plugin.module is None:
        return Declared(plugin=plugin, problems=plugin.problems, complete=False)
    hooks = _Hooks(plugin, plugin.module)
    found = hooks.declarations()
    complete = not hooks.problems
    derived = hooks.derived([each for each in found if isinstance(each, Resource)])
    return Declared(
        plugin=plugin,
        all=(*found, *derived),
        lifespan=hooks.lifespan if _LIFESPAN in hooks.implemented else None,
        problems=(*plugin.problems, *hooks.problems),
        complete=complete,
    )


def hook_names() -> tuple[str, ...]:
    """Return the names of the hooks, in the order of the reference."""
    return tuple(name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_"))


class _Hooks:
    """The hook implementations of one plugin: each is registered, and later called, alone."""

    def __init__(self, plugin: Plugin, module: ModuleType) -> None:
        self.plugin: Final = plugin
        self.problems: Final[list[PluginProblem]] = []
        self.implemented: Final[dict[str, object]] = {}
        self._host: Final = pluggy.PluginManager(PROJECT)
        self._host.add_hookspecs(hookspecs)
        for name in dir(module):
            self._take(module, name)
        for app in vars(module).values():
            if isinstance(app, RowPlugin) and app.module == module.__name__:
                self._take_all(app)

    def declarations(self) -> tuple[object, ...]:
        """Return those items of what the plugin declares that are usable."""
        if _DECLARATIONS not in self.implemented:
            return ()
        try:
            answer = self._call(_DECLARATIONS)
        except Misdeclared as found:
            self._fail(found.what, found.fix, found)
            return ()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a hook raises is reported
            what = f"{_DECLARATIONS} raised {type(error).__name__}: {error}"
            self._fail(what, repair_of(error, "repair the hook"), error, place_of_error(error))
            return ()
        if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
            self._fail(f"{_DECLARATIONS} returned {type(answer).__name__}", _WANTED)
            return ()
        return tuple(item for item in answer if self._is_usable(item))

    def _is_usable(self, item: object) -> bool:
        if not isinstance(item, _KINDS):
            self._fail(f"{_DECLARATIONS} returned an item of type {type(item).__name__}", _WANTED)
            return False
        wrong = list(misfits(item))
        for what, fix in wrong:
            self._fail(what, fix, where=item.where)
        return not wrong

    def derived(self, resources: Sequence[Resource[Any]]) -> tuple[object, ...]:
        """Return the declarations derived from resources, and record their problems."""
        if not resources:
            return ()
        places = [(f"resource {each.family}", each.where) for each in resources]
        try:
            found = derive(self.plugin.name, resources)
        except Exception as error:  # noqa: BLE001 - what a check cannot foresee is reported, too
            said = f"resources cannot be derived: {type(error).__name__}: {error}"
            where = place_of_error(error) or places[0][1]
            self._fail(said, "correct the declaration", error, where)
            return ()
        for what, fix in dict.fromkeys(found.problems):
            self._fail(what, fix, where=place_in(places, what) or places[0][1])
        return found.all

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
            self._fail(f"its Plugin is named {app.name!r}, and its entry point is not", fix)
        for name in hook_names():
            if name in self.implemented:
                fix = "leave it to Plugin: app.include(...), @app.lifespan"
                self._fail(f"{name} is declared by the module and by its Plugin", fix)
            else:
                self._take(app, name)

    def _take(self, module: object, name: str) -> None:
        """Register an attribute of the module, if it is or was meant to be a hook."""
        function = getattr(module, name)
        options = self._host.parse_hookimpl_opts(module, name)
        if options is None and not (name in hook_names() and callable(function)):
            return
        if problem := self._wrong(name, function, options):
            self._fail(*problem, where=place_of_hook(function))
            return
        # Registered alone: pluggy stops at the first implementation that it refuses.
        alone = ModuleType(self.plugin.name)
        setattr(alone, name, function)
        try:
            self._host.register(alone, name=name)
        except pluggy.PluginValidationError:
            arguments = ", ".join(inspect.signature(getattr(hookspecs, name)).parameters)
            what = f"{name}{inspect.signature(function)} asks for more than the hook gives"
            self._fail(what, f"define it as {name}({arguments})", where=place_of_hook(function))
        else:
            self.implemented[name] = function

    def _wrong(
        self, name: str, function: object, options: Mapping[str, Any] | None
    ) -> tuple[str, str] | None:
        """Return what is wrong with an implementation by its looks, and the repair."""
        if options is None:
            return f"{name} is not marked as a hook", "decorate it with @hookimpl"
        if refused := [option for option in _REFUSED_OPTIONS if options.get(option)]:
            return f"{name} uses the hook option {' and '.join(refused)}", "use plain @hookimpl"
        if name in _FORMER:
            fix = f"return its declarations from {_DECLARATIONS}, which takes all kinds"
            return f"the hook {name} has been removed", fix
        if name not in hook_names():
            near = difflib.get_close_matches(name, hook_names(), n=1)
            known = f"the hooks are {' and '.join(hook_names())}"
            fix = f"rename or remove it; {f'did you mean {near[0]}?' if near else known}"
            return f"{name} is not a hook", fix
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            fix = "decorate it with @asynccontextmanager" if name == _LIFESPAN else "use plain def"
            return f"{name} is an async function", fix
        return None

    def _call(self, hook: str, **arguments: object) -> object:
        answers: list[object] = getattr(self._host.hook, hook)(**arguments)
        # pluggy leaves out an answer that is None.
        return answers[0] if answers else None

    def _fail(
        self, what: str, fix: str, cause: BaseException | None = None, where: str = ""
    ) -> None:
        # A misdeclared row class says its place itself.
        if not where and not isinstance(cause, Misdeclared):
            where = place_of_hook(self.implemented.get(_DECLARATIONS))
        self.problems.append(self.plugin.problem(what, fix, cause, where))
