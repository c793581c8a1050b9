"""The derived handlers: one loop over the items of a batch, with its reads and writes in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Final, NoReturn, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.batches import answer_each
from quorate.plugin.outcomes import Rejected
from quorate.plugin.resource.binding import (
    CREATED,
    EXPECTED,
    EXPIRE,
    MISSING_OK,
    SWEEP,
    UPDATED,
    Binding,
    Write,
    bind,
)
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.owners import Owners, deleting, refuse_deleting
from quorate.plugin.resource.removing import Remover, expire_of, keep_row, sweep_of
from quorate.plugin.splicing import embedded, head, number
from quorate.plugin.transaction import Reader, Row, Txn
from quorate.plugin.updates import Updates, updated
from quorate.v1.batch_pb2 import BatchReply

R = TypeVar("R", bound=Message)

Handler = Callable[[Txn, Any], BatchReply]

#: Compare-and-set found another revision.
REVISION_MISMATCH: Final = "REVISION_MISMATCH"


def handler_of(binding: Binding, write: Write, below: Sequence[Binding] = ()) -> Handler:
    """Return the handler of a verb's command; rows of `below` belong to those of the resource."""
    spec = write.spec
    if spec.apply_all is not None:
        return spec.apply_all
    if spec.apply is not None:
        apply = spec.apply
        return lambda txn, command: answer_each(txn, write.items(command), apply)
    if write.verb == "Delete":
        return _delete(binding, write, below)
    if write.verb in (SWEEP, EXPIRE):
        return (sweep_of if write.verb == SWEEP else expire_of)(binding, below)
    derived = {"Create": _create, "Update": _update, "Put": _put}
    return derived[write.verb](binding, write)


def shown(binding: Binding) -> Callable[[bytes, bytes, int], bytes]:
    """Return the function that encodes an answer from a key, its row and its revision."""
    answer = binding.resource.serving.answer
    if answer is None:
        return lambda _, row, __: row
    kind = binding.resource.row.DESCRIPTOR
    of_row = next(
        (each.number for each in answer.DESCRIPTOR.fields if each.message_type is kind), 0
    )
    revised = answer.DESCRIPTOR.fields_by_name.get("revision")
    held = answer.DESCRIPTOR.fields_by_name if binding.keyed is answer else {}
    names = [name in held for name in binding.resource.key]
    of_text = [
        held[name].number
        for name in binding.resource.key
        if name in held and held[name].type == FieldDescriptor.TYPE_STRING
    ]
    are_texts = len(of_text) == len(names) > 0

    def named(key: bytes) -> bytes:
        """Return the fields of the key: the packed form of text without zeros is cut up."""
        if are_texts:
            *texts, rest = key.split(b"\0")
            if not rest and len(texts) == len(of_text) and b"\2" not in texts:
                fields = zip(of_text, texts, strict=True)
                return b"".join([head(field, len(text) - 1) + text[1:] for field, text in fields])
        pairs = zip(binding.resource.key, keys.unpack(key), strict=True)
        parts: dict[str, Any] = dict(compress(pairs, names))
        return answer(**parts).SerializeToString() if parts else b""

    def show(key: bytes, row: bytes, revision: int) -> bytes:
        stamp = number(revised.number, revision) if revised is not None else b""
        return named(key) + (embedded(of_row, row) if of_row else row) + stamp

    return show


def _loop(
    binding: Binding,
    write: Write,
    carry_out: Callable[[Txn, Any, Any, bytes, bytes | None, Owners], Message | None],
) -> Handler:
    """Return the loop over the items: `carry_out` returns the row that is written, if any."""
    family = binding.resource.family
    key_of = binding.key_of_item(write)
    show = shown(binding)
    compares = write.has(EXPECTED)

    def handle(txn: Txn, command: Any) -> BatchReply:
        items = list(write.items(command))
        named = list(map(key_of, items))
        stored: Sequence[Any] = (txn.get_rows if compares else txn.get_values)(family, named)
        owners = Owners(binding, txn)
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
                row = carry_out(txn, command, item, key, found, owners)
                if row is not None:
                    rows[key] = value = row.SerializeToString(deterministic=True)
                    reply = show(key, value, revision)
            except Rejected as refusal:
                answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
            replies.append(reply)
        txn.put_each(family, rows)
        owners.store()
        answer.replies.extend(replies)
        return answer

    return handle


def _create(binding: Binding, write: Write) -> Handler:
    new = _new_row(binding, write)

    def create(txn: Txn, _: Any, item: Any, __: bytes, stored: bytes | None, owners: Owners) -> Any:
        if stored is not None:
            going = deleting(binding.resource.row.FromString(stored))
            hint = " and is being deleted: wait until it is gone" if going else ": update it"
            raise Rejected(
                "ALREADY_EXISTS",
                f"{binding.noun} {binding.named(item)} already exists{hint}",
            )
        return new(txn, item, owners)

    return _loop(binding, write, create)


def _put(binding: Binding, write: Write) -> Handler:
    resource = binding.resource
    new, finish = _new_row(binding, write), _finish(binding)
    kept = [CREATED, *resource.serving.internal]
    kept = [name for name in kept if name in resource.row.DESCRIPTOR.fields_by_name]
    make = _maker(binding, write)
    owned, guarded = _is_owned(binding), resource.life.sweep is not None

    def put(txn: Txn, _: Any, item: Any, __: bytes, stored: bytes | None, owners: Owners) -> Any:
        if stored is None:
            return new(txn, item, owners)
        if owned:
            owners.accept(item)
        before, row = resource.row.FromString(stored), make(item)
        if guarded:
            refuse_deleting(binding, before)
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
        txn: Txn, command: Any, item: Any, _: bytes, stored: bytes | None, __: Owners
    ) -> Any:
        if stored is None:
            missing(binding, item)
        row = resource.row.FromString(stored)
        refuse_deleting(binding, row)
        row = updates.write(row, item, write.mask(command))
        if check is not None:
            updated(row, lambda whole: check(whole, ""))
        return finish(txn, resource.row.FromString(stored), row)

    return _loop(binding, write, update)


def _delete(binding: Binding, write: Write, below: Sequence[Binding]) -> Handler:
    resource = binding.resource
    family, changed = resource.family, resource.storage.changed
    of_item = write.has(MISSING_OK)
    of_command = MISSING_OK in write.command.DESCRIPTOR.fields_by_name
    plain = not below and resource.life.ttl is None

    def delete(
        txn: Txn, command: Any, item: Any, key: bytes, stored: bytes | None, owners: Owners
    ) -> Any:
        if stored is None:
            if (of_item and item.missing_ok) or (of_command and command.missing_ok):
                return None
            missing(binding, item)
        if plain:
            if changed is not None:
                changed(txn, resource.row.FromString(stored), None)
            owners.remove(key)
            txn.delete(family, key)
            return None
        remover = Remover(binding, txn, below, owners=owners, shared_by=len(write.items(command)))
        left = remover.remove(key, stored)
        remover.store()
        return left

    return _loop(binding, write, delete)


def _maker(binding: Binding, write: Write) -> Callable[[Any], Any]:
    """Return the function that makes a row of an item, with the fields that callers may set."""
    resource = binding.resource
    known = resource.row.DESCRIPTOR.fields_by_name
    cleared = [name for name in (CREATED, UPDATED, *resource.serving.internal) if name in known]
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


def _new_row(binding: Binding, write: Write) -> Callable[[Txn, Any, Owners], Any]:
    resource = binding.resource
    make, finish = _maker(binding, write), _finish(binding)
    created = CREATED in resource.row.DESCRIPTOR.fields_by_name
    owned, limited = _is_owned(binding), bool(resource.life.limit)

    def new(txn: Txn, item: Any, owners: Owners) -> Any:
        if owned:
            owners.accept(item)
        row = make(item)
        if created:
            row.created_at_ms = txn.proposed_at_ms
        finish(txn, None, row)
        if limited:
            owners.add(item)
        return row

    return new


def _finish(binding: Binding) -> Callable[[Txn, Any, Any], Any]:
    """Return the function that completes every row before it is written."""
    changed = binding.resource.storage.changed
    stamped, kept = binding.stamped, _is_kept(binding)

    def finish(txn: Txn, before: Any, row: Any) -> Any:
        if stamped:
            row.updated_at_ms = txn.proposed_at_ms
        if changed is not None:
            changed(txn, before, row)
        if kept:
            keep_row(txn, binding, binding.key_of(row), row)
        return row

    return finish


def _is_owned(binding: Binding) -> bool:
    return bool(binding.resource.tenant) or binding.resource.life.parent is not None


def _is_kept(binding: Binding) -> bool:
    return binding.resource.life.ttl is not None or binding.resource.life.history is not None


def _compare(binding: Binding, item: Any, found: Row | None) -> None:
    if not item.HasField(EXPECTED):
        return
    expected, revision = item.expected_revision, 0 if found is None else found.revision
    if revision == expected or (found is None and getattr(item, MISSING_OK, False)):
        return
    if found is None and MISSING_OK in item.DESCRIPTOR.fields_by_name:
        missing(binding, item)
    stands = f"has revision {revision}" if revision else "is not there"
    wanted = f"revision {expected} is expected" if expected else "none is expected"
    raise Rejected(
        REVISION_MISMATCH,
        f"{binding.noun} {binding.named(item)} {stands}, and {wanted}: read it again",
    )


def missing(binding: Binding, item: Any) -> NoReturn:
    """Refuse an item whose row is not there."""
    code = binding.resource.serving.missing
    raise Rejected(code, f"there is no {binding.noun} {binding.named(item)}")


# Reads and writes for the functions of a resource's own verbs.


def find_row(reader: Reader, resource: Resource[R], item: Any) -> R | None:
    """Return the row that an item, or another row, names by its key; None if it does not exist."""
    value = reader.get(resource.family, bind(resource).key_of(item))
    return None if value is None else resource.row.FromString(value)


def get_row(reader: Reader, resource: Resource[R], item: Any) -> R:
    """Return the row that an item names; rejects with the resource's `missing` code otherwise."""
    row = find_row(reader, resource, item)
    return row if row is not None else missing(bind(resource), item)


def write_row(txn: Txn, resource: Resource[R], row: R) -> R:
    """Write a row, which was updated now, and return it."""
    binding = bind(resource)
    return row_writer(binding)(txn, binding.key_of(row), row)


def row_writer(binding: Binding) -> Callable[[Txn, bytes, R], R]:
    """Return what writes a row under its key, as `write_row` does."""
    family, stamped, kept = binding.resource.family, binding.stamped, _is_kept(binding)

    def write(txn: Txn, key: bytes, row: R) -> R:
        if stamped:
            setattr(row, UPDATED, txn.proposed_at_ms)
        if kept:
            keep_row(txn, binding, key, row)
        txn.put(family, key, row.SerializeToString(deterministic=True))
        return row

    return write


def remove_row(txn: Txn, resource: Resource[R], row: R) -> None:
    """Delete a row to which no others belong, and count one less where there is a limit."""
    binding = bind(resource)
    key = binding.key_of(row)
    txn.delete(resource.family, key)
    owners = Owners(binding, txn)
    owners.remove(key)
    owners.store()
