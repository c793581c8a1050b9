"""Checks the declarations of all plugins against each other, and reports all problems together."""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from quorate.plugin.access import RIGHTS
from quorate.plugin.declarations import (
    CONSTANT_KEY,
    METADATA_GROUP,
    ColumnFamily,
    Command,
    ExtensionPoint,
    RaftGroup,
)
from quorate.plugin.declared import Declared
from quorate.plugin.nearness import meant
from quorate.plugin.needs import misfits
from quorate.plugin.outcomes import Invalid
from quorate.plugin.problems import PluginProblem
from quorate.plugin.services import missing, undeclared
from quorate.plugin.source_lines import place_in

#: What the command line itself offers below `quorate`.
HOST_CLI_COMMANDS: Final = frozenset(
    {
        *("audit", "backup", "bench", "cert", "completion", "config", "controller", "debug"),
        *("demo", "dev", "doctor", "explain", "group", "kv", "member", "metrics", "node"),
        *("plan", "plugin", "protos", "restore", "serve", "shard", "status", "top"),
        *("upgrade", "watch"),
    }
)

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")

#: What problems call each kind of declaration, and where a plugin has those of the kind.
_KINDS: Final = {
    "column family": "families",
    "cache": "caches",
    "controller": "controllers",
    "timer": "timers",
    "extension point": "points",
    "metric": "metrics",
    "command-line command": "cli_commands",
    "command": "commands",
    "query": "queries",
}
#: The functions in declarations, and whether they are awaited: others run in one turn of the loop.
_FUNCTIONS: Final = {
    ("command", "validate"): False,
    ("command", "shard_key"): False,
    ("query", "run"): False,
    ("query", "shard_key"): False,
    ("query", "order"): False,
    ("column family", "shard_key"): False,
    ("timer", "due"): False,
    ("command", "admit"): True,
    ("controller", "run_once"): True,
}

#: The fault, and the fix.
Problems = Iterator[tuple[str, str]]


def problems_of(declared: Sequence[Declared]) -> list[PluginProblem]:
    """Return everything that is wrong with these plugins, plugin by plugin.

    One mistake is reported once: what is missing because a hook failed is no problem of its own.
    """
    world = _World(declared)
    found: list[PluginProblem] = []
    for plugin in sorted(declared, key=lambda plugin: plugin.plugin.name):
        found.extend(plugin.problems)
        for check in _CHECKS:
            for what, fix in check(plugin, world):
                where = place_in(_subjects(plugin), what)
                found.append(plugin.plugin.problem(what, fix, where=where))
    return found


def _subjects(plugin: Declared) -> Iterator[tuple[str, str]]:
    """Yield how problems name each declaration, and its place."""
    for kind, each in _each(plugin, *_KINDS):
        yield f"{kind} {_name(each)}", each.where
    for command in plugin.commands:
        yield f"handler of {_name(command)}", command.where
    for service in plugin.services:
        yield f"service {service.full_name}", service.where
        for method in (*service.service.methods_by_name, *service.access):
            yield f"access of {service.full_name}/{method}", service.where
    for group in plugin.groups:
        yield f"group {group.name}", group.where
        yield f"group {group.name!r}", group.where
    for extension in plugin.extensions:
        yield f"extension {extension.name} of {extension.point}", extension.where
        yield f"extension {extension.name}", extension.where
    for section in plugin.sections:
        yield f"config section {section.model.__name__}", section.where
        yield "config sections", section.where


def _each(plugin: Declared, *kinds: str) -> Iterator[tuple[str, Any]]:
    """Yield the declarations of these kinds, each with its kind."""
    for kind in kinds:
        for declaration in getattr(plugin, _KINDS[kind]):
            yield kind, declaration


class _World:
    """The declarations of all plugins, against which each plugin is checked."""

    def __init__(self, declared: Sequence[Declared]) -> None:
        #: Who declares a group, and with how many shards.
        self.groups: Final[dict[str, list[tuple[str, int]]]] = defaultdict(list)
        #: (kind, name) to the plugins that declare it, and may.
        self.owners: Final[dict[tuple[str, str], list[str]]] = defaultdict(list)
        #: The plugins with declarations that may be missing.
        self.incomplete: Final = {each.plugin.name for each in declared if not each.complete}
        for plugin in declared:
            name = plugin.plugin.name
            for group in plugin.groups:
                if _can_be_made(group) and group.name != METADATA_GROUP.name:
                    self.groups[group.name].append((name, group.shards))
            for kind, item in _claims(plugin):
                self.owners[kind, item].append(name)
        # A usurper of a name must not hide the declaration of its owner: the owner's comes last.
        self.families: Final = {
            family.name: family for family in _owners_last(declared, "families")
        }
        self.points: Final = {
            point.name: point.type
            for point in _owners_last(declared, "points")
            if _tells_types_apart(point)
        }


def _owners_last(declared: Sequence[Declared], kind: str) -> list[Any]:
    """Return all declarations of a kind, the ones named after their own plugin last."""
    items = ((plugin, item) for plugin in declared for item in getattr(plugin, kind))
    found = sorted(items, key=lambda each: _is_named_after(each[0], each[1].name))
    return [item for _, item in found]


def _owned(plugin: Declared) -> Iterator[tuple[str, str, bool]]:
    """Yield kind and name of each item to be named after its plugin, and whether it is."""
    own = ("column family", "cache", "controller", "timer", "extension point")
    for kind, item in _each(plugin, *own):
        yield kind, item.name, _is_named_after(plugin, item.name)
    for metric in plugin.metrics:
        noun = metric.name.removeprefix(f"quorate_{plugin.plugin.name}_")
        yield "metric", metric.name, noun != metric.name and bool(_NAME.fullmatch(noun))


def _claims(plugin: Declared) -> Iterator[tuple[str, str]]:
    """Every name that may be declared only once; a stray name claims nothing."""
    yield from ((kind, name) for kind, name, owned in _owned(plugin) if owned)
    yield from ((kind, _name(each)) for kind, each in _each(plugin, "command", "query"))
    yield from (("service", service.full_name) for service in plugin.services)
    yield from (
        ("command-line command", command.name)
        for command in plugin.cli_commands
        if command.name not in HOST_CLI_COMMANDS
    )
    yield from (("extension", f"{each.name} of {each.point}") for each in plugin.extensions)


def _names_once(plugin: Declared, world: _World) -> Problems:
    for kind, name in sorted(set(_claims(plugin))):
        owners = world.owners[kind, name]
        others = sorted(set(owners) - {plugin.plugin.name})
        if others:
            yield (
                f"{kind} {name} is also declared by {' and '.join(others)}",
                "rename it in one of them, or leave one of them disabled",
            )
        elif len(owners) > 1:
            yield (f"{kind} {name} is declared {len(owners)} times", "keep one of them")


def _names_owned(plugin: Declared, _: _World) -> Problems:
    for kind, name, owned in _owned(plugin):
        if not owned:
            form = "quorate_{}_<noun>_<unit>" if kind == "metric" else "{}.<noun>"
            yield (
                f"{kind} {name} is not named after the plugin",
                f"name it {form.format(plugin.plugin.name)}, in small letters",
            )
    for command in plugin.cli_commands:
        if command.name in HOST_CLI_COMMANDS:
            yield (f"command-line command {command.name} is the host's own", "give it another name")


def _groups(plugin: Declared, world: _World) -> Problems:
    own = plugin.plugin.name
    for group in plugin.groups:
        if not _can_be_made(group):
            yield (
                f"group {group.name!r} with shards={group.shards} cannot be made",
                "name it in small letters and give it at least one shard",
            )
        elif group.name == METADATA_GROUP.name and group != METADATA_GROUP:
            yield (
                f"group {group.name} is declared with shards={group.shards}, and the host gives it "
                f"shards={METADATA_GROUP.shards}",
                f"declare RaftGroup(name={group.name!r}), or leave it out",
            )
    for name in sorted({group.name for group in plugin.groups}):
        shards = world.groups.get(name, [])
        if len({count for _, count in shards}) > 1:
            settings = " and ".join(f"shards={count} by {owner}" for owner, count in shards)
            yield (f"group {name} is declared with {settings}", "declare it equally everywhere")
    declared = {METADATA_GROUP.name, *world.groups, *(group.name for group in plugin.groups)}
    users = ("column family", "cache", "controller", "timer", "command", "query")
    for kind, item in _each(plugin, *users):
        if item.group not in declared and world.incomplete.isdisjoint((own, item.group)):
            yield (
                f"{kind} {_name(item)} is in group {item.group}, which no plugin declares",
                meant(
                    item.group,
                    sorted(declared),
                    f"declare RaftGroup(name={item.group!r}), or correct the name",
                ),
            )


def _commands(plugin: Declared, world: _World) -> Problems:
    for command in plugin.commands:
        name = _name(command)
        if (command.shard_key is None) == (command.items is None):
            found = "neither" if command.shard_key is None else "both"
            yield (
                f"command {name} has {found} of shard_key and items",
                "give it shard_key, or items when it is a batch",
            )
        if not command.examples:
            yield (
                f"command {name} has no examples",
                "give it at least one, for the conformance kit",
            )
        strangers = {type(each) for each in command.examples} - {command.message}
        for stranger in sorted(strangers, key=lambda stranger: stranger.__name__):
            yield (
                f"an example of command {name} is a {stranger.__name__}",
                "give examples of the command's own message",
            )
        yield from _refused_examples(command)
        if command.access is not None and command.access.right not in RIGHTS:
            right = command.access.right
            yield (f"command {name} needs the unknown right {right!r}", meant(right, RIGHTS))
        if command.level < 1:
            yield (f"command {name} has level {command.level}", "levels begin with 1")
        yield from _reads(world, f"command {name}", command.group, command.reads)


def _refused_examples(command: Command[Any]) -> Problems:
    if command.validate is None or _is_async(command.validate):
        return
    for position, example in enumerate(command.examples):
        if isinstance(example, command.message):
            # What else it raises is found by the conformance kit.
            with suppress(Exception):
                try:
                    command.validate(example)
                except Invalid as invalid:
                    yield (
                        f"command {_name(command)} has an example {position} that its own "
                        f"validation refuses: {invalid}",
                        "correct the example, or the validation",
                    )


def _background(plugin: Declared, _: _World) -> Problems:
    """Check the numbers of what runs by itself."""
    for each in plugin.controllers:
        if not callable(each.interval_s) and not each.interval_s > 0:
            yield (
                f"controller {each.name} has interval_s={each.interval_s!r}",
                "give it seconds above 0, or a function of the node that returns them",
            )
    for timer in plugin.timers:
        if timer.batch < 1:
            yield (f"timer {timer.name} has batch={timer.batch}", "give it at least 1")


def _queries(plugin: Declared, world: _World) -> Problems:
    for query in plugin.queries:
        name = _name(query)
        if query.shard_key is None and query.items is None and query.order is None:
            yield (
                f"query {name} runs on all shards and has no order",
                "give it shard_key, or order to merge its answers by",
            )
        if query.shard_key is not None and query.items is not None:
            yield (f"query {name} has both shard_key and items", "keep one of them")
        yield from _reads(world, f"query {name}", query.group, query.reads)


def _reads(world: _World, reader: str, group: str, reads: Sequence[str]) -> Problems:
    for wanted in reads:
        family = world.families.get(wanted)
        if family is None:
            yield from _unknown_family(world, f"{reader} reads", wanted)
        elif family.group != group and not family.mirrored:
            yield (
                f"{reader} in group {group} reads column family {wanted} of group {family.group}",
                "read families of the own group, or mirrored ones",
            )


def _rows(plugin: Declared, world: _World) -> Problems:
    """Check that followed families exist and have a row message, as mirrored ones must."""
    followers: list[tuple[str, Sequence[str]]] = [
        *((f"cache {cache.name}", cache.families) for cache in plugin.caches),
        *((f"controller {each.name}", each.wake_on) for each in plugin.controllers),
    ]
    for follower, families in followers:
        for wanted in families:
            family = world.families.get(wanted)
            if family is None:
                yield from _unknown_family(world, f"{follower} follows", wanted)
            elif family.row is None:
                yield (
                    f"{follower} follows column family {wanted}, which has no row message",
                    "follow a family that is declared with its row message",
                )
    for family in plugin.families:
        if family.mirrored and family.group != METADATA_GROUP.name:
            yield (
                f"column family {family.name} of group {family.group} is mirrored",
                f"mirror families of group {METADATA_GROUP.name} alone",
            )
        if family.row is None and (family.mirrored or family.previous):
            yield (
                f"column family {family.name} is private, and is mirrored or keeps previous values",
                "give it a row message",
            )


def _services(plugin: Declared, _: _World) -> Problems:
    """Hold a servicer that is made by its class against its service; others are held at boot."""
    for declared in plugin.services:
        servicer = declared.servicer
        if not isinstance(servicer, type):
            continue
        for name in missing(declared.service, servicer):
            yield (
                f"servicer {servicer.__name__} lacks the method {name} of service "
                f"{declared.full_name}",
                f"write `async def {name}(self, request, context)`, or remove the rpc from the "
                ".proto file",
            )
        for name in undeclared(declared.service, servicer):
            yield (
                f"servicer {servicer.__name__} has a public method {name}, and service "
                f"{declared.full_name} has none of that name",
                f"name it like an rpc of the service, declare the rpc, or make it private: _{name}",
            )


def _extension_types(plugin: Declared, world: _World) -> Problems:
    for point in plugin.points:
        if not _tells_types_apart(point):
            yield (
                f"extension point {point.name} has the protocol {point.type.__name__}, which "
                "isinstance refuses",
                "mark the protocol with @runtime_checkable",
            )
    for extension in plugin.extensions:
        wanted = world.points.get(extension.point, object)
        if not isinstance(extension.value, wanted):
            yield (
                f"extension {extension.name} of {extension.point} is a "
                f"{type(extension.value).__name__}",
                f"give a {wanted.__name__}",
            )


def _config_section(plugin: Declared, _: _World) -> Problems:
    if len(plugin.sections) > 1:
        yield (f"{len(plugin.sections)} config sections are declared", "declare one model")
    # The configuration is slow to import, and clients and loaders have none.
    from quorate.config import section_fault

    for section in plugin.sections:
        if fault := section_fault(section.model):
            yield (f"the config section {section.model.__name__} is not usable", f"it {fault}")


def _async_or_not(plugin: Declared, _: _World) -> Problems:
    """Check that functions run in one turn of the loop are plain, and awaited ones are async."""
    functions: list[tuple[str, Any, bool]] = [
        (f"the handler of {_name(each)}", each.apply, False) for each in plugin.commands
    ]
    functions += [
        (f"{part} of {kind} {_name(each)}", getattr(each, part), awaited)
        for (kind, part), awaited in _FUNCTIONS.items()
        for _, each in _each(plugin, kind)
    ]
    for what, function, awaited in functions:
        if function is None or _is_async(function) == awaited:
            continue
        if awaited:
            yield (f"{what} is not an async function", "define it with async def")
        else:
            yield (
                f"{what} is an async function",
                "define it with def: it works on its arguments, and awaits nothing",
            )


def _access(plugin: Declared, world: _World) -> Problems:
    """Check that access declarations name existing methods, fields and domains."""
    for service in plugin.services:
        known = service.service.methods_by_name
        for name, access in service.access.items():
            what = f"access of {service.full_name}/{name}"
            if name not in known:
                yield (f"{what} names an unknown method", meant(name, known))
                continue
            if access.right not in RIGHTS:
                yield (
                    f"{what} has the unknown right {access.right!r}",
                    meant(access.right, RIGHTS),
                )
            request = known[name].input_type
            for path in misfits(access, request):
                yield (
                    f"{what} names {path!r}, and {request.full_name} has no such field",
                    meant(path, (each.name for each in request.fields)),
                )
            domain = access.domain
            if "." in domain and domain not in world.families:
                yield from _unknown_family(world, what + " names", domain)


def _families_without_a_place(plugin: Declared, _: _World) -> Problems:
    for family in placeless(plugin):
        # Private rows may belong to the shard itself, like the totals of its rows.
        if family.row is not None:
            yield (
                f"column family {family.name} has no shard_key, and every command of the plugin in "
                f"group {family.group} has one: its rows would stay when shards grow",
                "give it shard_key: from the key of a row to the shard key of the commands that "
                "write it",
            )


def placeless(plugin: Declared) -> Iterator[ColumnFamily]:
    """Yield the families of which the rows cannot be found by slot when shards grow.

    Rows without a shard key belong to the constant one, and no command goes by that.
    """
    for family in plugin.families:
        if family.shard_key is None:
            writers = [each for each in plugin.commands if each.group == family.group]
            found = [key for each in writers for key in _example_keys(each)]
            if found and CONSTANT_KEY not in found:
                yield family


def _example_keys(command: Command[Any]) -> Iterator[bytes]:
    for example in command.examples:
        # What these functions raise is found by the conformance kit.
        with suppress(Exception):
            if command.items is not None:
                yield from [command.items.shard_key(each) for each in command.items.get(example)]
            elif command.shard_key is not None:
                yield command.shard_key(example)


def _is_async(function: object) -> bool:
    # Also of an object that is called like a function.
    called = vars(type(function)).get("__call__")
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, called)
    )


def _unknown_family(world: _World, user: str, family: str) -> Problems:
    if family.partition(".")[0] not in world.incomplete:
        yield (
            f"{user} column family {family}, which no plugin declares",
            meant(family, world.families, "correct the name, or enable the plugin that owns it"),
        )


def _is_named_after(plugin: Declared, name: str) -> bool:
    owner, _, noun = name.partition(".")
    return owner == plugin.plugin.name and bool(_NAME.fullmatch(noun))


def _can_be_made(group: RaftGroup) -> bool:
    return group.shards >= 1 and bool(_NAME.fullmatch(group.name))


def _tells_types_apart(point: ExtensionPoint) -> bool:
    try:
        isinstance(None, point.type)
    except TypeError:
        return False
    return True


def _name(declaration: Any) -> str:
    """Return the name of a declaration: that of its message where it has none of its own."""
    message = getattr(declaration, "message", None)
    return str(declaration.name if message is None else message.DESCRIPTOR.full_name)


_CHECKS: Final[tuple[Callable[[Declared, _World], Problems], ...]] = (
    _names_once,
    _names_owned,
    _groups,
    _commands,
    _queries,
    _rows,
    _services,
    _access,
    _families_without_a_place,
    _async_or_not,
    _extension_types,
    _config_section,
    _background,
)
