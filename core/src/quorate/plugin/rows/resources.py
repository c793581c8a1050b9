"""Row classes as resources of their messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

from quorate.plugin import Admission, Life, Serving, keys
from quorate.plugin.access import Access
from quorate.plugin.declarations import ConsolePage, Extension
from quorate.plugin.node import NodeApi, ShardRef
from quorate.plugin.resource.binding import DELETING, bind, command_noun
from quorate.plugin.resource.declaration import History, Resource, Ttl, Verb
from quorate.plugin.resource.handlers import (
    find_row,
    missing,
    remove_row,
    row_writer,
    write_row,
)
from quorate.plugin.resource.owners import refuse_deleting
from quorate.plugin.resource.reading import Reads, read_rows
from quorate.plugin.rows.checks import check_of, checks_of_key
from quorate.plugin.rows.files import NUMBER, has_children
from quorate.plugin.rows.plugin import Plugin, RowResource
from quorate.plugin.rows.row import (
    Row,
    VerbOf,
    generated,
    message_of,
    message_type,
    plain,
    reader_of,
    row_of,
)
from quorate.plugin.rows.shapes import Field, Misdeclared, example_of, place_of, shape_of
from quorate.plugin.rows.types import Role
from quorate.plugin.source_lines import placed
from quorate.plugin.transaction import Reader, Txn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import Tenant

F = TypeVar("F", bound=Row)
A = TypeVar("A")
P = ParamSpec("P")


def resources_of(app: Plugin) -> list[Any]:
    """Return the resources of a plugin's classes, and its page of the console."""
    made = [*_made(app).values()]
    states = [each for each in map(partial(_states, app), app.resources) if each is not None]
    if not made:
        return []
    tables = {
        each.many: (app.name.replace("_", "-"), command_noun(app.made[each.cls]), "list")
        for each in app.resources
    }
    page = ConsolePage(title=app.name.replace("_", " ").capitalize(), tables=tables)
    own = any(isinstance(each, Extension) and each.point == _PAGES for each in app.included)
    pages = [] if own else [Extension(point=_PAGES, name=app.name, value=page)]
    return [*made, *states, *pages]


def resource_of(cls: type[Row]) -> Resource[Any]:
    """Return the resource of a row class."""
    app = cls.__row_plugin__
    if app is None:
        raise Misdeclared(f"{cls.__name__} is no resource", "decorate it with @app.resource(...)")
    return _made(app)[cls]


_PAGES = "cluster.console_pages"


def _made(app: Plugin) -> dict[type[Row], Resource[Any]]:
    """Make the resources, parents first; each class has one for ever."""
    named: dict[str, str] = {}
    for each in app.resources:
        if each.family in named:
            raise Misdeclared(
                f"{each.said} and {named[each.family]} both are the family {each.family}",
                "give one of them another plural",
            )
        named[each.family] = each.name
        if each.cls not in app.made:
            app.made[each.cls] = placed(_resource(app, each), place_of(each.cls))
    return app.made


def _resource(app: Plugin, declared: RowResource) -> Resource[Any]:
    pb, name, many = generated(app.module), declared.name, declared.many
    service = pb.DESCRIPTOR.services_by_name[f"{name}Service"]
    parent = None
    if declared.parent is not None and declared.parent is not Tenant:
        if declared.parent not in app.made:
            raise Misdeclared(
                f"{declared.said} has a parent that is no resource yet",
                "decorate the parent above it",
            )
        parent = app.made[declared.parent]
    rooted = _rooted(app, declared)
    shape = declared.shape
    swept = has_children(declared, app.resources)
    return Resource(
        family=declared.family,
        group=app.group.name,
        row=message_type(declared.cls),
        service=service,
        key=declared.key,
        shard_by=declared.key[:1],
        tenant=declared.key[0] if rooted else "",
        life=Life(
            parent=parent,
            limit=_limit(declared, rooted),
            sweep=getattr(pb, f"Sweep{many}") if swept else None,
            ttl=_ttl(pb, declared),
            history=_history(pb, declared),
        ),
        check=check_of(shape.values()),
        check_key=checks_of_key(shape.values()),
        serving=Serving(
            internal=(*declared.of(Role.INTERNAL), *([DELETING] if swept else [])),
            keep=_keep(declared),
        ),
        examples=tuple(_examples(app, declared)),
        verbs={
            each.name: _verb(declared, each, getattr(pb, f"{name}{each.name}"), rooted)
            for each in declared.own_verbs
        },
    )


def _rooted(app: Plugin, declared: RowResource) -> bool:
    """Return whether rows belong to a tenant in the end."""
    parent: Any = declared.parent
    if parent is None or parent is Tenant:
        rooted = parent is Tenant
        if rooted and declared.key[:1] != ("tenant",):
            raise Misdeclared(
                f"{declared.said} has the parent Tenant and no `tenant: Key[Name]`",
                "begin its fields with it",
            )
        return rooted
    return _rooted(app, app.resource_of(parent))


def _limit(declared: RowResource, rooted: bool) -> str | int:
    if declared.limit is True:
        if not rooted:
            raise Misdeclared(
                f"{declared.said} has limit=True, and its rows belong to no tenant",
                "write limit=<number of rows within one parent>",
            )
        return declared.family
    return declared.limit or ""


def _ttl(pb: Any, declared: RowResource) -> Ttl | None:
    if not declared.ttl:
        return None
    held = declared.shape.get(declared.ttl)
    if held is None or held.kind is not int or held.many:
        raise Misdeclared(
            f"{declared.said} has ttl={declared.ttl!r}, which is no number of its rows",
            "name a field `ttl_ms: int = 0` with the milliseconds",
        )
    return Ttl(
        field=declared.ttl,
        expire=getattr(pb, f"Expire{declared.many}"),
        expired=getattr(pb, f"{declared.name}Expired"),
    )


def _history(pb: Any, declared: RowResource) -> History | None:
    if not declared.history:
        return None
    row = getattr(pb, f"{declared.name}State")
    return History(family=f"{declared.family}_states", row=row, keep=declared.history)


def _states(app: Plugin, declared: RowResource) -> Resource[Any] | None:
    """Return the resource of the former states of rows: it is only read."""
    history = app.made[declared.cls].life.history
    if history is None:
        return None
    pb = generated(app.module)
    return Resource(
        family=history.family,
        group=app.group.name,
        row=history.row,
        service=pb.DESCRIPTOR.services_by_name[f"{declared.name}StateService"],
        key=(*declared.key, NUMBER),
        shard_by=declared.key[:1],
        check_key=checks_of_key(declared.shape.values()),
        life=Life(parent=app.made[declared.cls]),
    )


def _verb(declared: RowResource, verb: VerbOf, item: Any, rooted: bool) -> Verb:
    given = declared.parameters(verb)
    clash = [name for name in given if name in declared.key]
    if clash:
        raise Misdeclared(
            f"{given[clash[0]].where}: {verb.function.__name__} takes {clash[0]}, which names the "
            "row",
            "rename the parameter",
        )
    made: list[Callable[[Txn, Any], Any]] = []

    def apply(txn: Txn, asked: Any) -> Any:
        # The resource has this verb, and so is made after it.
        if not made:
            made.append(_applied(declared.cls, verb, given))
        return made[0](txn, asked)

    names = declared.key
    return Verb(
        apply=apply,
        check=check_of(given.values()),
        admission=Admission(
            level=verb.level,
            access=Access(
                right=verb.access,
                domain=declared.family,
                tenant=names[0] if rooted else "",
                key=(names[1] if len(names) > 1 else "") if rooted else names[0],
            ),
        ),
        examples=tuple(_verb_examples(declared, verb, item)),
    )


def _applied(cls: type[Row], verb: VerbOf, given: Mapping[str, Field]) -> Callable[[Txn, Any], Any]:
    """Return the handler of a verb's item: it reads the row, and writes the one that it is given.

    What is read again is little: one item has one row.
    """
    resource = resource_of(cls)
    binding, function, read = bind(resource), verb.function, reader_of(given)
    key_of, named = binding.key_of, attrgetter(*resource.key)
    parse, family = resource.row.FromString, resource.family
    guarded = resource.life.sweep is not None
    store = row_writer(binding)

    def apply(txn: Txn, asked: Any) -> Any:
        key = key_of(asked)
        value = txn.get(family, key)
        if value is None:
            missing(binding, asked)
        stored = parse(value)
        if guarded:
            refuse_deleting(binding, stored)
        answer = function(txn, row_of(cls, stored), **read(asked))
        if answer is None:
            return None
        row = message_of(answer)
        if named(row) != named(asked):
            raise ValueError(f"{function.__name__} returned the row of another key")
        return store(txn, key, row)

    return apply


def _keep(declared: RowResource) -> Callable[[Any], Callable[[Any], bool] | None] | None:
    """Return the further conditions of a request for rows."""
    conditions = list(
        zip(declared.conditions.values(), declared.cls.__row_conditions__, strict=True)
    )
    if not conditions:
        return None
    cls = declared.cls

    def keep(request: Any) -> Callable[[Any], bool] | None:
        asked = []
        for field, wanted in conditions:
            value = reader_of({field.name: field})(request)[field.name]
            known = request.DESCRIPTOR.fields_by_name[field.name]
            if request.HasField(field.name) if known.has_presence else value:
                asked.append(partial(wanted, **{field.name: value}))
        if not asked:
            return None
        return lambda row: all(each(row_of(cls, row)) for each in asked)

    return keep


def _key_example(app: Plugin, declared: RowResource, number: int) -> dict[str, Any]:
    """Return a key whose first parts are those of the parent's first example."""
    above: list[Any] = []
    parent: Any = declared.parent
    if parent is not None and parent is not Tenant:
        resource = app.resource_of(parent)
        first = next(_examples(app, resource))
        above = [getattr(first, name) for name in resource.key]
    own = declared.key[len(above) :]
    made = [example_of(declared.shape[name], 1 if name != own[-1] else number) for name in own]
    return dict(zip(declared.key, [*above, *made], strict=True))


def _examples(app: Plugin, declared: RowResource) -> Iterator[Any]:
    if declared.examples:
        yield from (message_of(each) for each in declared.examples)
        return
    kind = message_type(declared.cls)
    first, second = (_key_example(app, declared, number) for number in (1, 2))
    yield kind(**first, **_needed(declared.shape.values(), 1))
    # What the type of a key allows may be one value alone.
    if second != first:
        yield kind(**second, **_needed(declared.shape.values(), 2))


def _needed(fields: Any, number: int) -> dict[str, Any]:
    """Return values of the fields that must have one."""
    found: dict[str, Any] = {}
    for each in fields:
        if each.role is Role.KEY or (each.default in (None, 0, "", b"", [], {}) or each.optional):
            continue
        if each.nested:
            kind = message_type(each.kind)
            value: Any = kind(**_needed(shape_of(each.kind).values(), number))
        else:
            value = example_of(each, number)
        if each.many == "list":
            value = [value]
        elif each.many == "dict":
            value = {("name" if each.map_key is str else 1): value}
        found[each.name] = value
    return found


def _verb_examples(declared: RowResource, verb: VerbOf, item: Any) -> Iterator[Any]:
    row = next(_examples(declared.cls.__row_plugin__, declared))
    key = {name: getattr(row, name) for name in declared.key}
    yield item(**key, **_needed(declared.parameters(verb).values(), 1))


# What verbs and controllers do with rows.


def find(reader: Reader, cls: type[F], *key: keys.Part) -> F | None:
    """Return the row of a key, or None; it is in the shard of the row that a verb is given."""
    resource = resource_of(cls)
    found = find_row(reader, resource, resource.row(**_named(resource, key)))
    return None if found is None else row_of(cls, found)


def write(txn: Txn, row: F) -> F:
    """Write another row than the one that a verb was given."""
    write_row(txn, resource_of(type(row)), message_of(row))
    return row


def remove(txn: Txn, row: Row) -> None:
    """Delete a row to which no others belong."""
    remove_row(txn, resource_of(type(row)), message_of(row))


async def rows_of(node: NodeApi, cls: type[F], *leading: str) -> AsyncIterator[F]:
    """Yield the rows below a part of the key, page by page, for a controller."""
    resource = resource_of(cls)
    async for page in Reads(bind(resource)).keys_of(node, *leading):
        for row in await read_rows(node, resource, page):
            if row is not None:
                yield row_of(cls, row)


async def carry_out(
    node: NodeApi,
    shard: ShardRef,
    verb: Callable[Concatenate[Txn, F, P], A],
    rows: Sequence[F],
    *args: P.args,
    **given: P.kwargs,
) -> int:
    """Carry out a verb on rows as the leader of a shard; return on how many of them."""
    if args:
        raise TypeError(f"give the parameters of {verb.__name__} by their names")
    if not rows:
        return 0
    resource = resource_of(type(rows[0]))
    [write] = [
        bind(resource).writes[each.name]
        for each in type(rows[0]).__row_verbs__
        if each.function is verb
    ]
    item: Any = write.item
    said = {name: plain(value) for name, value in given.items()}
    items = [item(**{name: getattr(row, name) for name in resource.key}, **said) for row in rows]
    reply = await node.propose(write.of(items), BatchReply, if_leader=shard)
    return reply.items - len(reply.refusals)


def _named(resource: Resource[Any], key: Sequence[keys.Part]) -> dict[str, Any]:
    if len(key) != len(resource.key):
        raise TypeError(f"the key of {resource.family} is {', '.join(resource.key)}")
    return dict(zip(resource.key, key, strict=True))
