"""Everything that resources declare, in the forms in which a plugin could have written it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.batches import in_parts
from quorate.plugin.declarations import (
    ColumnFamily,
    Command,
    Controller,
    Extension,
    GrpcService,
    Items,
    Query,
    Timer,
)
from quorate.plugin.kinds import OfKind
from quorate.plugin.node import NodeApi
from quorate.plugin.resource.binding import (
    DERIVED,
    EXPECTED,
    EXPIRE,
    MISSING_OK,
    SWEEP,
    Binding,
    Write,
    bind,
)
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.handlers import handler_of
from quorate.plugin.resource.messages import derived_message
from quorate.plugin.resource.mistakes import mistakes_of
from quorate.plugin.resource.needs import access_of_write, place_of
from quorate.plugin.resource.owners import counts_family
from quorate.plugin.resource.reading import Reads
from quorate.plugin.resource.removing import beneath, deletion_timer, life_timer
from quorate.plugin.resource.serving import service_of, validate_of
from quorate.plugin.resource.tables import table_of
from quorate.plugin.resource.tenants import (
    CASCADES,
    TENANTS,
    TenantCascade,
    TenantDeletion,
    TenantRows,
    tenant_known,
)
from quorate.plugin.source_lines import placed
from quorate.plugin.transaction import Reader
from quorate.v1.rows_pb2 import KnowsTenant, TenantKnown
from quorate.v1.tenant_pb2 import Tenant

_TABLES: Final = "spark.tables"


Derivable: TypeAlias = (
    ColumnFamily | Command[Any] | Query[Any] | GrpcService | Controller | Timer | Extension
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The declarations that resources add to those of a plugin."""

    all: tuple[Derivable, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()

    families = OfKind(ColumnFamily)
    commands = OfKind(Command)


def derive(plugin: str, resources: Sequence[Resource[Any]]) -> Derived:
    """Return the declarations derived from a plugin's resources, and all of their problems."""
    bindings = [bind(each) for each in resources]
    problems = [each for binding in bindings for each in binding.problems]
    if not problems:
        families = {each.resource.family for each in bindings}
        problems = [each for binding in bindings for each in mistakes_of(binding, families)]
    problems += _shared(bindings)
    if problems:
        return Derived(all=tuple(_families(bindings)), problems=tuple(problems))
    return Derived(
        all=(
            *_families(bindings),
            *_commands(bindings),
            *(query for binding in bindings for query in Reads(binding).queries()),
            *(
                placed(service_of(found), found[0].resource.where)
                for found in _by_service(bindings).values()
            ),
            *_timers(bindings),
            *tenant_deletion(plugin, bindings),
            *_tables(bindings),
        )
    )


def _commands(bindings: Sequence[Binding]) -> Iterator[Command[Any]]:
    below = beneath(bindings)
    for binding, write in _writes(bindings):
        made = _command(binding, write, below.get(binding.resource.family, ()))
        yield placed(made, binding.resource.where)


def tenant_rows_of(resource: Resource[Any]) -> TenantRows:
    """Return how the rows of a tenant are found and deleted."""
    binding = bind(resource)
    reads = Reads(binding)

    async def keys_of(node: NodeApi, tenant: str) -> AsyncIterator[Sequence[bytes]]:
        async for page in reads.keys_of(node, tenant):
            for part in in_parts(page, resource.life.deletions):
                yield part

    if callable(resource.life.cascade):
        return TenantRows(keys_of=keys_of, erase=resource.life.cascade)
    delete = binding.writes["Delete"]

    def erase(_: NodeApi, found: Sequence[bytes]) -> Message:
        assert delete.item is not None
        like = None
        missing_ok: dict[str, Any] = {}
        if delete.has(MISSING_OK):
            missing_ok = {MISSING_OK: True}
        elif MISSING_OK in delete.command.DESCRIPTOR.fields_by_name:
            like = delete.command(**{MISSING_OK: True})
        parts = (dict(zip(resource.key, keys.unpack(key), strict=True)) for key in found)
        return delete.of([delete.item(**each, **missing_ok) for each in parts], like)

    return TenantRows(keys_of=keys_of, erase=erase)


def tenant_deletion(
    plugin: str, bindings: Sequence[Binding], more: Sequence[TenantRows] = (), group: str = ""
) -> tuple[Query[Any] | Controller | Extension, ...]:
    """Return a plugin's part in the deletion of tenants with rows under `bindings`."""
    held = [each for each in bindings if each.resource.tenant and each.resource.life.cascade]
    tenant_rows = (*(tenant_rows_of(each.resource) for each in held), *more)
    if not tenant_rows:
        return ()
    groups = list(dict.fromkeys([*(each.resource.group for each in held), *filter(None, [group])]))
    package = (
        bindings[0].resource.row.DESCRIPTOR.file.package if bindings else f"quorate_{plugin}.v1"
    )
    asked = [
        derived_message(package, f"Knows{plugin.title()}Tenant{each.title()}", KnowsTenant)
        for each in (part.replace("_", "") for part in groups)
    ]

    def known(reader: Reader, query: Any) -> Iterator[TenantKnown]:
        tenant = tenant_known(reader, query.tenant)
        yield TenantKnown(deleting_id=tenant.id if tenant and tenant.deleting_at_ms else 0)

    async def is_known(node: NodeApi, tenant: Tenant) -> bool:
        for kind in asked:
            async for each in node.query(kind(tenant=tenant.name), TenantKnown):
                if each.deleting_id != tenant.id:
                    return False
        return True

    deletion = TenantDeletion(cascade=plugin, tenant_rows=tenant_rows, known=is_known)
    return (
        *(
            Query(message=kind, group=each, run=known, order=lambda _: b"", reads=(TENANTS,))
            for kind, each in zip(asked, groups, strict=True)
        ),
        Controller(
            name=f"{plugin}.tenant_deletion",
            group=groups[0],
            run_once=deletion.run_once,
            interval_s=deletion.interval_s,
            wake_on=(TENANTS,),
        ),
        Extension(point=CASCADES, name=plugin, value=TenantCascade(holds=deletion.holds)),
    )


def _families(bindings: Sequence[Binding]) -> Iterator[ColumnFamily]:
    for binding in bindings:
        resource = binding.resource
        shard_key = binding.shard_of if resource.shard_by or resource.storage.shard_key else None
        family = ColumnFamily(
            name=resource.family,
            group=resource.group,
            row=resource.row,
            shard_key=shard_key,
            mirrored=resource.storage.mirrored,
            previous=resource.storage.previous,
            counted=resource.storage.counted,
            departs=resource.storage.departs,
            place=place_of(binding),
        )
        yield placed(family, resource.where)
        if resource.life.limit:
            # Its keys are those of the tenants, by which rows are spread if they are at all.
            if resource.shard_by and isinstance(resource.life.limit, str):
                shard_key = bytes
            counts = counts_family(resource.family)
            yield ColumnFamily(name=counts, group=resource.group, shard_key=shard_key)


def _writes(bindings: Sequence[Binding]) -> Iterator[tuple[Binding, Write]]:
    last: list[tuple[Binding, Write]] = []
    for binding in bindings:
        # What deletes comes last, those of the last resource first: so the examples of all others
        # find their rows.
        for write in sorted(binding.writes.values(), key=_order):
            spec = write.spec
            if spec.admission.by_hand and spec.apply is None and spec.apply_all is None:
                continue
            if write.verb == "Delete":
                last.insert(0, (binding, write))
            else:
                yield binding, write
    yield from last


def _order(write: Write) -> int:
    own = len(DERIVED) - 1
    if write.verb == "Delete":
        return own + 1
    return DERIVED.index(write.verb) if write.verb in DERIVED else own


def _command(binding: Binding, write: Write, below: Sequence[Binding]) -> Command[Any]:
    key_of = binding.key_of_item(write)
    spec = write.spec
    named = (
        write.item is None or spec.item.key is not None or all(map(write.has, binding.resource.key))
    )
    called = bool(write.batches or write.singles) and not spec.admission.by_hand
    return Command(
        message=write.command,
        group=binding.resource.group,
        apply=handler_of(binding, write, below),
        reads=_reads(binding, write),
        items=Items(
            get=write.items,
            shard_key=binding.shard_of_item(write),
            read=spec.item.read,
            make=lambda whole, items: write.of(items, whole),
            key=key_of if named and not spec.item.repeats else None,
            tenant=binding.tenant_of_item(write),
        ),
        keys=(lambda item: (key_of(item),)) if named else None,
        validate=validate_of(binding, write),
        admit=spec.admission.admit,
        public=called if spec.admission.public is None else spec.admission.public,
        access=access_of_write(binding, write),
        frees=write.verb == "Delete",
        level=spec.admission.level,
        examples=tuple(_examples(binding, write)),
    )


def _reads(binding: Binding, write: Write) -> tuple[str, ...]:
    reads = write.spec.reads
    if binding.resource.tenant and write.verb != "Delete" and TENANTS not in reads:
        return (*reads, TENANTS)
    return reads


def _timers(bindings: Sequence[Binding]) -> Iterator[Timer]:
    for binding in bindings:
        resource = binding.resource
        if resource.life.sweep is not None:
            yield _timer(deletion_timer(resource.family), resource.group, resource.life.sweep)
        if resource.life.ttl is not None:
            yield _timer(life_timer(resource.family), resource.group, resource.life.ttl.expire)


def _timer(name: str, group: str, due: Any) -> Timer:
    return Timer(name=name, group=group, due=lambda keys: due(keys=keys))


def _examples(binding: Binding, write: Write) -> Iterator[Message]:
    if examples := write.spec.examples:
        whole = [each for each in examples if isinstance(each, write.command)]
        yield from whole or [write.of(list(examples))]
        return
    resource = binding.resource
    if write.verb in (SWEEP, EXPIRE) and resource.examples:
        yield write.of([binding.key_of(resource.examples[0])])
    if write.verb not in DERIVED or not resource.examples:
        return
    if write.item is None:
        if write.key_is_text:
            yield write.of([getattr(row, resource.key[0]) for row in resource.examples])
        return
    if write.item is resource.row:
        yield write.of(list(resource.examples))
        return
    names = [
        each.name
        for each in write.item.DESCRIPTOR.fields
        if each.name not in (EXPECTED, MISSING_OK)
    ]
    item: Any = write.item
    yield write.of(
        [
            item(**{each.name: value for each, value in row.ListFields() if each.name in names})
            for row in resource.examples
        ]
    )


def _by_service(bindings: Sequence[Binding]) -> Mapping[str, list[Binding]]:
    found: dict[str, list[Binding]] = {}
    for binding in bindings:
        found.setdefault(binding.resource.service.full_name, []).append(binding)
    return found


def _shared(bindings: Sequence[Binding]) -> Iterator[tuple[str, str]]:
    """Hold resources that share a service against each other."""
    for name, found in _by_service(bindings).items():
        served = [method for each in found for method in _served(each)]
        for method in dict.fromkeys(each.name for each in found[0].resource.service.methods):
            count = served.count(method)
            if count > 1:
                families = " and ".join(
                    each.resource.family for each in found if method in _served(each)
                )
                yield (
                    f"resources {families} both serve {method} of {name}",
                    "give each serving=Serving(methods=...) with its own methods",
                )
            elif not count and not any(each.problems for each in found):
                yield (
                    f"service {name} has the method {method}, which no resource serves",
                    "name it in the `methods` of one, or remove the rpc from the .proto file",
                )


def _served(binding: Binding) -> list[str]:
    found = list(binding.own)
    for write in binding.writes.values():
        found += [*write.batches, *write.singles]
    found += [read.method for reads in binding.reads.values() for read in reads]
    return list(dict.fromkeys(found))


def _tables(bindings: Sequence[Binding]) -> Iterator[Extension]:
    for binding in bindings:
        table = table_of(binding)
        if table is not None:
            yield Extension(point=_TABLES, name=binding.resource.family, value=table)
