"""The derived handlers: one loop over the items of a batch, with its reads and writes in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Final, NoReturn, TypeVar

from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.batches import answer_each, read_each, read_values
from quorate.plugin.outcomes import Rejected
from quorate.plugin.resource.binding import (
    CREATED,
    EXPECTED,
    MISSING_OK,
    UPDATED,
    Binding,
    Write,
    bind,
)
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.tenants import TENANTS, limit_of, tenant_there
from quorate.plugin.splicing import embedded, number
from quorate.plugin.transaction import Reader, Row, Txn
from quorate.plugin.updates import Updates, updated
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.rows_pb2 import RowCount

#: The field of rows that wait for others before they go.
_DELETING: Final = "deleting_at_ms"

R = TypeVar("R", bound=Message)

Handler = Callable[[Txn, Any], BatchReply]

#: The reason for exceeding a tenant's limit of rows.
LIMIT_REACHED: Final = "LIMIT_REACHED"
#: Compare-and-set found another revision.
REVISION_MISMATCH: Final = "REVISION_MISMATCH"


def handler_of(binding: Binding, write: Write) -> Handler:
    """Return the handler of a verb's command."""
    spec = write.spec
    if spec.apply_all is not None:
        return spec.apply_all
    if spec.apply is not None:
        apply = spec.apply
        return lambda txn, command: answer_each(txn, write.items(command), apply)
    derived = {"Create": _create, "Update": _update, "Put": _put, "Delete": _delete}
    return derived[write.verb](binding, write)


def counts_family(family: str) -> str:
    """Return the private family that holds how many rows each tenant has."""
    return f"{family}_of_tenants"


def shown(binding: Binding) -> Callable[[bytes, bytes, int], bytes]:
    """Return the function that encodes an answer from a key, its row and its revision."""
    answer = binding.resource.answer
    if answer is None:
        return lambda _, row, __: row
    kind = binding.resource.row.DESCRIPTOR
    of_row = next(
        (each.number for each in answer.DESCRIPTOR.fields if each.message_type is kind), 0
    )
    revised = answer.DESCRIPTOR.fields_by_name.get("revision")
    held = answer.DESCRIPTOR.fields_by_name if binding.keyed is answer else {}
    names = [name in held for name in binding.resource.key]

    def show(key: bytes, row: bytes, revision: int) -> bytes:
        pairs = zip(binding.resource.key, keys.unpack(key), strict=True)
        parts: dict[str, Any] = dict(compress(pairs, names))
        named = answer(**parts).SerializeToString() if parts else b""
        stamp = number(revised.number, revision) if revised is not None else b""
        return named + (embedded(of_row, row) if of_row else row) + stamp

    return show


class _Tenants:
    """The tenants of one command's items, each looked at once, and how many rows they have."""

    def __init__(self, binding: Binding, txn: Txn) -> None:
        self._resource: Final = binding.resource
        self._counts: Final = counts_family(binding.resource.family)
        self._txn: Final = txn
        self._known: Final[dict[str, Any]] = {}
        self._rows: Final[dict[str, int]] = {}

    def accept(self, name: str) -> None:
        """Refuse a row of a tenant that is not there or is being deleted."""
        found = self._known.get(name)
        if found is None:
            try:
                found = tenant_there(self._txn, name)
            except Rejected as refusal:
                found = refusal
            self._known[name] = found
        if isinstance(found, Rejected):
            raise Rejected(found.code, found.message)

    def add(self, name: str, noun: str) -> None:
        """Count a new row; refuse it at the tenant's limit."""
        if not self._resource.limit:
            return
        count = self._count(name)
        most = limit_of(self._known[name], self._resource.limit)
        if most is not None and count >= most:
            self._txn.refresh(TENANTS)
            raise Rejected(
                LIMIT_REACHED,
                f"tenant {name} has {count} of its {most} {noun}s ({self._resource.limit})",
            )
        self._rows[name] = count + 1

    def remove(self, name: str) -> None:
        """Count a row less."""
        if self._resource.limit:
            self._rows[name] = max(0, self._count(name) - 1)

    def store(self) -> None:
        """Write the counts."""
        for name, count in self._rows.items():
            key = keys.pack(name)
            if count:
                value = RowCount(count=count).SerializeToString(deterministic=True)
                self._txn.put(self._counts, key, value)
            else:
                self._txn.delete(self._counts, key)

    def _count(self, name: str) -> int:
        found = self._rows.get(name)
        if found is None:
            stored = self._txn.get(self._counts, keys.pack(name))
            found = 0 if stored is None else RowCount.FromString(stored).count
        return found


def _loop(
    binding: Binding,
    write: Write,
    carry_out: Callable[[Txn, Any, Any, bytes, bytes | None, _Tenants], Message | None],
) -> Handler:
    """Return the loop over the items: `carry_out` returns the row that is written, if any."""
    family = binding.resource.family
    key_of = binding.key_of_item(write)
    show = shown(binding)
    compares = write.has(EXPECTED)

    def handle(txn: Txn, command: Any) -> BatchReply:
        items = list(write.items(command))
        named = list(map(key_of, items))
        stored: Sequence[Any] = list(
            read_each(txn, family, named) if compares else read_values(txn, family, named)
        )
        tenants = _Tenants(binding, txn)
        answer = BatchReply(items=len(items))
        rows: dict[bytes, bytes] = {}
        replies: list[bytes] = []
        revision = txn.revision
        for position, (item, key, found) in enumerate(zip(items, named, stored, strict=True)):
            reply = b""
            try:
                if compares:
                    _compare(binding, item, found)
                    found = None if found is None else found.value
                row = carry_out(txn, command, item, key, found, tenants)
                if row is not None:
                    rows[key] = value = row.SerializeToString(deterministic=True)
                    reply = show(key, value, revision)
            except Rejected as refusal:
                answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
            replies.append(reply)
        txn.put_each(family, rows)
        tenants.store()
        answer.replies.extend(replies)
        return answer

    return handle


def _create(binding: Binding, write: Write) -> Handler:
    new = _new_row(binding, write)

    def create(
        txn: Txn, _: Any, item: Any, __: bytes, stored: bytes | None, tenants: _Tenants
    ) -> Any:
        if stored is not None:
            deleting = getattr(binding.resource.row.FromString(stored), _DELETING, 0)
            hint = " and is being deleted: wait until it is gone" if deleting else ": update it"
            raise Rejected(
                "ALREADY_EXISTS",
                f"{binding.noun} {binding.named(item)} already exists{hint}",
            )
        return new(txn, item, tenants)

    return _loop(binding, write, create)


def _put(binding: Binding, write: Write) -> Handler:
    resource = binding.resource
    new, finish = _new_row(binding, write), _finish(binding)
    kept = [CREATED, *resource.internal]
    kept = [name for name in kept if name in resource.row.DESCRIPTOR.fields_by_name]
    make = _maker(binding, write)

    def put(txn: Txn, _: Any, item: Any, __: bytes, stored: bytes | None, tenants: _Tenants) -> Any:
        if stored is None:
            return new(txn, item, tenants)
        if resource.tenant:
            tenants.accept(getattr(item, resource.tenant))
        before, row = resource.row.FromString(stored), make(item)
        fields = before.ListFields()
        row.MergeFrom(
            resource.row(**{each.name: value for each, value in fields if each.name in kept})
        )
        return finish(txn, before, row)

    return _loop(binding, write, put)


def _update(binding: Binding, write: Write) -> Handler:
    resource = binding.resource
    updates, finish = Updates(fixed=binding.fixed), _finish(binding)
    check = resource.check

    def update(
        txn: Txn, command: Any, item: Any, _: bytes, stored: bytes | None, __: _Tenants
    ) -> Any:
        if stored is None:
            _missing(binding, item)
        row = updates.write(resource.row.FromString(stored), item, write.mask(command))
        if check is not None:
            updated(row, lambda whole: check(whole, ""))
        return finish(txn, resource.row.FromString(stored), row)

    return _loop(binding, write, update)


def _delete(binding: Binding, write: Write) -> Handler:
    resource = binding.resource
    family, changed = resource.family, resource.changed
    of_item = write.has(MISSING_OK)
    of_command = MISSING_OK in write.command.DESCRIPTOR.fields_by_name

    def delete(
        txn: Txn, command: Any, item: Any, key: bytes, stored: bytes | None, tenants: _Tenants
    ) -> None:
        if stored is None:
            if (of_item and item.missing_ok) or (of_command and command.missing_ok):
                return
            _missing(binding, item)
        if changed is not None:
            changed(txn, resource.row.FromString(stored), None)
        if resource.tenant:
            tenants.remove(getattr(item, resource.tenant))
        txn.delete(family, key)

    return _loop(binding, write, delete)


def _maker(binding: Binding, write: Write) -> Callable[[Any], Any]:
    """Return the function that makes a row of an item, with the fields that callers may set."""
    resource = binding.resource
    known = resource.row.DESCRIPTOR.fields_by_name
    cleared = [name for name in (CREATED, UPDATED, *resource.internal) if name in known]
    if write.item is resource.row:

        def copy(item: Any) -> Any:
            row = resource.row()
            row.CopyFrom(item)
            for name in cleared:
                row.ClearField(name)
            return row

        return copy

    given = frozenset(known) - frozenset(cleared)

    def pick(item: Any) -> Any:
        fields = item.ListFields()
        return resource.row(**{each.name: value for each, value in fields if each.name in given})

    return pick


def _new_row(binding: Binding, write: Write) -> Callable[[Txn, Any, _Tenants], Any]:
    resource = binding.resource
    make, finish = _maker(binding, write), _finish(binding)
    created = CREATED in resource.row.DESCRIPTOR.fields_by_name

    def new(txn: Txn, item: Any, tenants: _Tenants) -> Any:
        if resource.tenant:
            tenant = getattr(item, resource.tenant)
            tenants.accept(tenant)
        row = make(item)
        if created:
            row.created_at_ms = txn.proposed_at_ms
        finish(txn, None, row)
        if resource.tenant:
            tenants.add(tenant, binding.noun)
        return row

    return new


def _finish(binding: Binding) -> Callable[[Txn, Any, Any], Any]:
    """Return the function that completes every row before it is written."""
    changed = binding.resource.changed
    stamped = binding.stamped

    def finish(txn: Txn, before: Any, row: Any) -> Any:
        if stamped:
            row.updated_at_ms = txn.proposed_at_ms
        if changed is not None:
            changed(txn, before, row)
        return row

    return finish


def _compare(binding: Binding, item: Any, found: Row | None) -> None:
    if not item.HasField(EXPECTED):
        return
    expected, revision = item.expected_revision, 0 if found is None else found.revision
    if revision == expected or (found is None and getattr(item, MISSING_OK, False)):
        return
    if found is None and MISSING_OK in item.DESCRIPTOR.fields_by_name:
        _missing(binding, item)
    stands = f"has revision {revision}" if revision else "is not there"
    wanted = f"revision {expected} is expected" if expected else "none is expected"
    raise Rejected(
        REVISION_MISMATCH,
        f"{binding.noun} {binding.named(item)} {stands}, and {wanted}: read it again",
    )


def _missing(binding: Binding, item: Any) -> NoReturn:
    missing = binding.resource.missing
    raise Rejected(missing, f"there is no {binding.noun} {binding.named(item)}")


# Reads and writes for the functions of a resource's own verbs.


def find_row(reader: Reader, resource: Resource[R], item: Any) -> R | None:
    """Return the row that an item, or another row, names by its key; None if it does not exist."""
    value = reader.get(resource.family, bind(resource).key_of(item))
    return None if value is None else resource.row.FromString(value)


def get_row(reader: Reader, resource: Resource[R], item: Any) -> R:
    """Return the row that an item names; rejects with the resource's `missing` code otherwise."""
    row = find_row(reader, resource, item)
    return row if row is not None else _missing(bind(resource), item)


def write_row(txn: Txn, resource: Resource[R], row: R) -> R:
    """Write a row, which was updated now, and return it."""
    binding = bind(resource)
    if binding.stamped:
        setattr(row, UPDATED, txn.proposed_at_ms)
    txn.put(resource.family, binding.key_of(row), row.SerializeToString(deterministic=True))
    return row


def remove_row(txn: Txn, resource: Resource[R], row: R) -> None:
    """Delete a row, and count one less of its tenant where there is a limit."""
    binding = bind(resource)
    txn.delete(resource.family, binding.key_of(row))
    if resource.limit:
        tenants = _Tenants(binding, txn)
        tenants.remove(getattr(row, resource.tenant))
        tenants.store()
