"""The commands of a resource: `quorate <plugin> <resource> list`, and its other verbs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import click
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from quorate.cli.completing import MOST, from_cluster
from quorate.cli.deferred import NounGroup, in_any_number, terminal_of
from quorate.cli.tables import Keyed
from quorate.plugin.console import (
    columns_of,
    consent,
    consent_options,
    first_rows,
    limit_option,
    words_of,
)
from quorate.plugin.resource import Binding, Resource, bind
from quorate.plugin.resource.binding import (
    CREATED,
    DERIVED,
    EXPECTED,
    MISSING_OK,
    UPDATED,
    Write,
    command_noun,
    plural,
    spaced,
)
from quorate.plugin.singles import is_repeated
from quorate.plugin.updates import UPDATE_MASK

if TYPE_CHECKING:
    from quorate.cli.completing import Find
    from quorate.client import AsyncClient, RecordChange, SyncRecords

#: What the values of a field are read as; text, if it is none of these.
_KINDS: Final[Mapping[int, click.ParamType[Any]]] = {
    FieldDescriptor.CPPTYPE_INT32: click.IntRange(-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_UINT32: click.IntRange(0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_INT64: click.IntRange(-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT64: click.IntRange(0, (1 << 64) - 1),
    FieldDescriptor.CPPTYPE_BOOL: click.BOOL,
    FieldDescriptor.CPPTYPE_DOUBLE: click.FLOAT,
    FieldDescriptor.CPPTYPE_FLOAT: click.FLOAT,
}
#: Fields of requests that options of their own stand for, or that nobody sets.
_HIDDEN: Final = frozenset({CREATED, UPDATED, UPDATE_MASK, EXPECTED, MISSING_OK})
#: The field of a deletion that also deletes rows that belong to the row.
CASCADE: Final = "cascade"
#: Maximum number of rows that a completion reads: many may share a part of their keys.
_LOOKED_AT: Final = 10 * MOST
_UPDATE: Final = "Update"
_PUT: Final = "Put"
PAGING: Final = frozenset({"page_size", "page_token", "stale", "min_revision"})


def group_of(
    name: str, resources: Sequence[Resource[Any]], into: click.Command | None = None
) -> click.Command:
    """Return the group of a name with a group for each resource, unless it has one by then.

    What a plugin brings itself stays, and is completed where it is the group of a resource. The
    commands of a resource that is named like the group stand in the group itself.
    """
    group: click.Group = NounGroup(name, help=f"Show and change the data of {name}.")
    if into is not None:
        if not isinstance(into, click.Group):
            return into
        group = into
        if type(into) is click.Group:
            group = NounGroup(
                into.name,
                dict(into.commands),
                callback=into.callback,
                params=into.params,
                help=into.help,
            )
    for resource in resources:
        noun = command_noun(resource)
        help = f"Show and change {spaced(plural(resource.row.DESCRIPTOR.name))}."
        brought = in_any_number(noun, group.commands)
        own = group.commands.get(brought) or click.Group(noun, help=help)
        if not isinstance(own, click.Group):
            continue
        # A plugin may have named it in the plural.
        group.commands.pop(brought, None)
        own.name = noun
        own.hidden = in_any_number(noun, {name}) == name
        for command in _commands(bind(resource)):
            if command.name not in own.commands:
                own.add_command(command)
            if own.hidden and command.name not in group.commands:
                group.add_command(command)
        group.add_command(own)
    return group


def _commands(binding: Binding) -> Iterator[click.Command]:
    if "List" in binding.asked:
        yield _list(binding)
    if "Get" in binding.asked:
        yield _get(binding)
    yield _watch(binding)
    for verb, write in binding.writes.items():
        if not (write.batches or write.singles):
            continue
        if verb == "Delete":
            yield _delete(binding)
        elif write.item is not None and _is_sayable(write):
            yield _change(binding, write)


def _beside(write: Write) -> list[_Given]:
    """Return the options for what a command says beside its items."""
    told = {write.field, UPDATE_MASK, MISSING_OK}
    fields = write.command.DESCRIPTOR.fields
    return [_Given(each, ()) for each in fields if each.name not in told]


def _is_sayable(write: Write) -> bool:
    """Return whether options can say all that the command says, without two of one name."""
    beside = {each.name for each in _beside(write)}
    if not beside:
        return True
    assert write.item is not None
    # Those go to methods without room for more, and a request with only the item has none either.
    if write.verb in (_UPDATE, _PUT) or (
        write.spec.admission.by_hand and "" in write.singles.values()
    ):
        return False
    return beside.isdisjoint(each.name for each in write.item.DESCRIPTOR.fields)


def _list(binding: Binding) -> click.Command:
    [read, *_] = binding.asked["List"]
    known = read.request.DESCRIPTOR.fields_by_name
    leading = [name for name in binding.resource.key[:-1] if name in known]
    fields = [
        each
        for each in read.request.DESCRIPTOR.fields
        if each.name not in PAGING and each.name not in leading
    ]
    conditions = [_Given(each, ()) for each in fields if each.message_type is None]

    def run(limit: int, **given: Any) -> None:
        request = {name: given[name] for name in leading if given[name]}
        request |= _given(conditions, given)
        found = _records(binding).list(page_size=min(limit + 1, 1_000), **request)
        _show(binding, list(first_rows(found, limit)))

    return limit_option(
        click.Command(
            "list",
            callback=run,
            params=[*_optional(leading), *(each.option() for each in conditions)],
            help=f"List {binding.noun}s in the order of their keys.",
        )
    )


def _get(binding: Binding) -> click.Command:
    reads = binding.asked["Get"]
    more = [] if any(each.many for each in reads) else list(_others(binding, reads[0].request))

    def run(**given: Any) -> None:
        key = _key(binding, given)
        row = _records(binding).get(key, **_given(more, given))
        if row is None:
            from quorate.client import RejectedError

            named = " of ".join(map(str, reversed(key)))
            raise RejectedError(
                binding.resource.serving.missing, f"there is no {binding.noun} {named}"
            )
        _show(binding, [row])

    return click.Command(
        "get",
        callback=run,
        params=[*_key_arguments(binding), *(each.option() for each in more)],
        help=f"Show one {binding.noun}.",
    )


def _watch(binding: Binding) -> click.Command:
    leading = binding.resource.key[:-1]

    def run(changes_only: bool, **given: Any) -> None:
        terminal = terminal_of(click.get_current_context())
        names = takewhile(bool, (given[name] for name in leading))
        with suppress(KeyboardInterrupt):
            for change in _records(binding).watch(*names, changes_only=changes_only):
                terminal.report(*_seen(change))

    only = click.Option(["--changes-only"], is_flag=True, help="Skip the current rows.")
    return click.Command(
        "watch",
        callback=run,
        params=[*_optional(leading), only],
        help=f"Show {binding.noun}s and every change to them, one per line, until Ctrl-C.",
    )


def _delete(binding: Binding) -> click.Command:
    delete = binding.writes["Delete"]
    more = [] if delete.item is None else list(_others(binding, delete.item))
    along, asks = binding.resource.view.takes_along, any(each.name == CASCADE for each in more)

    def run(missing_ok: bool, plan: bool = False, yes: bool = False, **given: Any) -> None:
        records, key = _records(binding), _key(binding, given)
        if along or given.get(CASCADE) or plan:
            row = records.get(key)
            named = " of ".join(map(str, reversed(key)))
            question = (
                f"Delete {binding.noun} {named} and {along or 'everything that belongs to it'}?"
            )
            affected = [] if row is None else [dict(columns_of(row))]
            terminal = terminal_of(click.get_current_context())
            if not consent(terminal, question, affected, plan=plan, yes=yes):
                return
        left = records.delete(key, missing_ok=missing_ok, **_given(more, given))
        # With `missing_ok` it may be an empty one.
        if left is not None and left.ByteSize():
            _show(binding, [left])

    help = f"A {binding.noun} that does not exist is not an error."
    flag = click.Option(["--missing-ok"], is_flag=True, help=help)
    command = click.Command(
        "delete",
        callback=run,
        params=[*_key_arguments(binding), *(each.option() for each in more), flag],
        help=f"Delete one {binding.noun}.",
    )
    return consent_options(command) if along or asks else command


def _change(binding: Binding, write: Write) -> click.Command:
    assert write.item is not None
    given = list(_settable(binding, write))
    replaces = write.verb == "Create" and "Put" in binding.writes
    updates = write.verb == _UPDATE
    beside = _beside(write)
    #: What a verb of the resource's own would empty if nothing were said of it.
    emptied = [each.path for each in given if write.verb not in DERIVED and each.can_be_empty]
    more: list[click.Parameter] = []
    if replaces:
        help = f"Replace an existing {binding.noun}."
        more.append(click.Option(["--replace"], is_flag=True, help=help))
    if updates:
        names = [each.path for each in given]
        help = "Clear a field; may be repeated."
        more.append(click.Option(["--clear"], multiple=True, type=click.Choice(names), help=help))
    elif emptied:
        help = "Leave a field empty that must be given otherwise; may be repeated."
        more.append(click.Option(["--clear"], multiple=True, type=click.Choice(emptied), help=help))
    item_type: type[Any] = write.item

    def run(replace: bool = False, clear: Sequence[str] = (), **values: Any) -> None:
        key = {name: values.pop(name) for name in binding.resource.key}
        item = item_type(**key)
        paths = list(clear)
        for each in given:
            value = values[each.name]
            if value not in (None, ()):
                each.write(item, value)
                paths.append(each.path)
        if silent := [each for each in emptied if each not in paths]:
            raise _would_empty(verb, silent)
        like = write.command() if beside else None
        for each in beside:
            if (value := values[each.name]) not in (None, ()):
                each.write(like, value)
        records = _records(binding)
        if updates:
            answer: Any = records.update(item, fields=paths)
        elif replace:
            answer = records.put(item)
        else:
            answer = records.do(write.verb, item, like=like)
        if answer is not None:
            _show(binding, [answer])

    verb = spaced(write.verb)
    return click.Command(
        verb.replace(" ", "-"),
        callback=run,
        params=[
            *_key_arguments(binding),
            *(each.option() for each in (*given, *beside)),
            *more,
        ],
        help=f"{verb.capitalize()} one {binding.noun}.",
    )


def _would_empty(verb: str, fields: Sequence[str]) -> click.UsageError:
    given = " and ".join(f"--{each.replace('.', '-').replace('_', '-')}" for each in fields)
    return click.UsageError(
        f"{verb} would empty {' and '.join(fields)}, of which nothing was said: give {given}, or "
        f"empty it with {' '.join(f'--clear {each}' for each in fields)}"
    )


class _Given:
    """An option for one field of a message, which refuses values that the field cannot hold."""

    def __init__(self, field: Any, within: tuple[Any, ...]) -> None:
        self.field: Final[Any] = field
        self._within: Final = within
        names = [each.name for each in (*within, field)]
        self.path: Final = ".".join(names)
        self.name: Final = "__".join(names)
        self._flag: Final = f"--{'-'.join(names).replace('_', '-')}"
        kind = field.message_type
        self._map: Final = kind is not None and bool(kind.GetOptions().map_entry)
        self._many: Final = is_repeated(field) and (kind is None or self._map)
        self._json: Final = kind is not None and not self._map

    @property
    def can_be_empty(self) -> bool:
        """Whether it is a list, a map or a message, which one that says nothing removes."""
        return self._many or self._json

    def option(self) -> click.Option:
        """Return the click option; its value is None or () when it is omitted."""
        field = self.field
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL and not self._many:
            off = f"--no-{self._flag.removeprefix('--')}"
            return click.Option([f"{self._flag}/{off}", self.name], default=None)
        metavar = "JSON" if self._json else "NAME=VALUE" if self._map else None
        return click.Option(
            [self._flag, self.name],
            type=None if self._map or self._json else _type(field),
            multiple=self._many,
            metavar=metavar,
            callback=self._check,
            help="May be repeated." if self._many else None,
        )

    def write(self, item: Any, value: Any) -> None:
        for each in self._within:
            item = getattr(item, each.name)
        if self._json:
            ParseDict({self.field.name: value}, item)
        elif self._map:
            getattr(item, self.field.name).update(value)
        elif self._many:
            getattr(item, self.field.name).extend(self.value(each) for each in value)
        else:
            setattr(item, self.field.name, self.value(value))

    def value(self, given: Any) -> Any:
        if self.field.enum_type is not None:
            return words_of(self.field.enum_type)[given]
        if self.field.type == FieldDescriptor.TYPE_BYTES:
            return str(given).encode(errors="surrogateescape")
        return given

    def _check(self, ctx: click.Context, parameter: click.Parameter, given: Any) -> Any:
        if given in (None, ()) or not (self._map or self._json):
            return given
        if self._map:
            return self._pairs(ctx, parameter, given)
        try:
            value = json.loads(given)
            owner: Any = self.field.containing_type._concrete_class
            ParseDict({self.field.name: value}, owner())
        except (ValueError, ParseError) as error:
            raise click.BadParameter(f"{given!r} is none: {error}", ctx, parameter) from None
        return value

    def _pairs(self, ctx: click.Context, parameter: click.Parameter, given: Any) -> dict[str, Any]:
        kind: Any = self.field.message_type.fields_by_name["value"]
        found: dict[str, Any] = {}
        for each in given:
            name, equals, value = each.partition("=")
            if not name or not equals:
                raise click.BadParameter(f"{each!r} is not of the form NAME=VALUE", ctx, parameter)
            found[name] = _type(kind).convert(value, parameter, ctx)
        return found


def _type(field: Any) -> click.ParamType[Any]:
    if field is None:
        return click.STRING
    if field.enum_type is not None:
        return click.Choice(list(words_of(field.enum_type)))
    return _KINDS.get(field.cpp_type, click.STRING)


def _settable(binding: Binding, write: Write) -> Iterator[_Given]:
    assert write.item is not None
    hidden = _HIDDEN.union(binding.resource.key)
    if write.verb in DERIVED:
        # A verb of the resource's own may be what sets them.
        hidden = hidden.union(binding.resource.serving.internal)
    for field in write.item.DESCRIPTOR.fields:
        if field.name in hidden:
            continue
        kind = field.message_type
        if kind is None or is_repeated(field):
            yield _Given(field, ())
        else:
            yield from (_Given(each, (field,)) for each in kind.fields)


def _others(binding: Binding, message: type[Message]) -> Iterator[_Given]:
    """Yield the options for the fields of a request or an item, except its key."""
    hidden = _HIDDEN.union(PAGING, binding.parts)
    for field in message.DESCRIPTOR.fields:
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        plain = field.message_type is None and not is_repeated(field)
        if (is_map or plain) and field.name not in hidden:
            yield _Given(field, ())


def _given(options: Sequence[_Given], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values of these options by option name."""
    found = ((each, values[each.name]) for each in options)
    return {each.name: each.value(value) for each, value in found if value not in (None, ())}


def _optional(names: Sequence[str]) -> list[click.Parameter]:
    return [click.Argument([name], default="") for name in names]


def _key_arguments(binding: Binding) -> list[click.Parameter]:
    """Return an argument for each part of the key; each is completed from the rows."""
    fields = dict(binding.resource.row.DESCRIPTOR.fields_by_name)
    fields |= binding.keyed.DESCRIPTOR.fields_by_name
    return [
        click.Argument(
            [name],
            metavar=name.upper(),
            type=_type(fields.get(name)),
            shell_complete=from_cluster(_parts(binding, name)),
        )
        for name in binding.resource.key
    ]


def _parts(binding: Binding, part: str) -> Find:
    """Return what finds values of a part of the key, below the parts that are given."""
    key = binding.resource.key
    before = key[: key.index(part)]

    async def find(
        client: AsyncClient, ctx: click.Context, start: str
    ) -> AsyncGenerator[str, None]:
        known = binding.asked["List"][0].request.DESCRIPTOR.fields_by_name
        conditions = {name: ctx.params[name] for name in before if name in known}
        if part == key[-1] and "prefix" in known:
            conditions["prefix"] = start
        looked_at = 0
        rows = client.records(binding.resource).list(page_size=_LOOKED_AT, **conditions)
        async with aclosing(rows):
            async for row in rows:
                if all(getattr(row, name) == ctx.params[name] for name in before):
                    yield str(getattr(row, part))
                looked_at += 1
                if looked_at == _LOOKED_AT:
                    return

    return find


def _key(binding: Binding, given: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(given[name] for name in binding.resource.key)


def _records(binding: Binding) -> SyncRecords[Any]:
    client = click.get_current_context().obj.client()
    records: SyncRecords[Any] = client.records(binding.resource)
    return records


def _show(binding: Binding, rows: Sequence[Message]) -> None:
    """Print rows, a column a field; those within a message stand beside the others."""
    columns = [dict(columns_of(row)) for row in rows]
    noun = plural(binding.noun)
    click.get_current_context().obj.print(Keyed(columns, key=binding.resource.key, noun=noun))


def _seen(change: RecordChange[Any]) -> tuple[str, Mapping[str, object]]:
    kind = str(change.kind)
    key = " ".join(str(each) for each in change.key)
    parts: dict[str, object] = {"kind": kind, "key": list(change.key), "revision": change.revision}
    if change.row is None:
        return f"{kind} {key or change.reason}", parts
    parts["value"] = MessageToDict(change.row, preserving_proto_field_name=True)
    return f"{kind} {key} = {json.dumps(parts['value'], ensure_ascii=False)}", parts
