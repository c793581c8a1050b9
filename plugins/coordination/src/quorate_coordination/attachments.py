"""Rows attached to a lease: their deleting commands are carried out when it ends."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import (
    Admission,
    Caller,
    Controller,
    Fence,
    Invalid,
    Item,
    NodeApi,
    Query,
    Reader,
    Rejected,
    Resource,
    ShardRef,
    Storage,
    Txn,
    Verb,
    View,
    keys,
)
from quorate.plugin.advanced import find_row, get_row, write_row
from quorate.plugin.checking import check_bytes, check_text
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.command_pb2 import Command

from quorate_coordination import holding
from quorate_coordination.families import (
    ATTACHMENTS,
    ENDED,
    GROUP,
    LONGEST_ID,
    check_id,
    check_name,
    place_of,
    row_fence,
    text_of,
)
from quorate_coordination.v1 import leases_pb2 as pb

_LARGEST: Final = 8 << 10
#: Of other shards' rows, in one round of the controller.
_AT_ONCE: Final = 1_000
_INTERVAL_S: Final = 5.0
#: Refusals that may not be the last word.
_PASSING: Final = frozenset({"ABORTED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"})


def carry_out_all(txn: Txn, lease: str) -> None:
    """Delete the rows of a lease that ends, now if they are in this shard."""
    for row in txn.scan(ATTACHMENTS, *keys.prefix(lease)):
        attachment = pb.Attachment.FromString(row.value)
        txn.raise_fence(*_fence_of_end(attachment))
        if _carry_out(txn, attachment):
            txn.delete(ATTACHMENTS, row.key)
        else:
            attachment.ended = True
            txn.put(ENDED, row.key, b"")
            write_row(txn, ATTACHMENT, attachment)


def _carry_out(txn: Txn, attachment: pb.Attachment) -> bool:
    command = Command()
    command.CopyFrom(attachment.on_end)
    command.fence.name, command.fence.token = _fence_of_end(attachment)
    try:
        return txn.carry_out(command) is not None
    except Rejected as refusal:
        # Another lease took it over, or it was deleted.
        return refusal.code not in _PASSING


def _fence_of_end(attachment: pb.Attachment) -> Fence:
    return Fence(row_fence(attachment.id), attachment.token + 1)


def _attach(txn: Txn, new: pb.NewAttachment) -> pb.Attachment:
    """Let a row go with a lease; another lease that has it lets it go."""
    lease = holding.find_lease(txn, new.lease)
    named = keys.pack(new.on_end.type, new.on_end.payload)
    row = new.id or blake2b(named, digest_size=LONGEST_ID // 4).hexdigest()
    attachment = find_row(txn, ATTACHMENT, pb.Attachment(lease=new.lease, id=row))
    if attachment is None:
        holding.hold(txn, lease, 1)
        token = holding.next_token(txn)
        attachment = pb.Attachment(
            lease=new.lease, id=row, token=token, created_at_ms=txn.proposed_at_ms
        )
        txn.raise_fence(row_fence(row), token, held=True)
    attachment.on_end.CopyFrom(new.on_end)
    return write_row(txn, ATTACHMENT, attachment)


def _detach(txn: Txn, name: pb.AttachmentName) -> None:
    """Leave a row to itself."""
    attachment = get_row(txn, ATTACHMENT, name)
    if attachment.ended:
        why = f"lease {name.lease} has ended, and the row is deleted with it"
        raise Rejected("FAILED_PRECONDITION", why)
    holding.hold(txn, holding.find_lease(txn, name.lease), -1)
    txn.raise_fence(row_fence(name.id), attachment.token)
    txn.delete(ATTACHMENTS, keys.pack(name.lease, name.id))


def _forget(txn: Txn, command: pb.ForgetAttachments) -> BatchReply:
    """Remove attachments that were carried out in another shard."""
    for key in command.keys:
        if txn.get(ENDED, key) is not None:
            txn.delete(ENDED, key)
            txn.delete(ATTACHMENTS, key)
    return BatchReply(items=len(command.keys))


def _find_ended(reader: Reader, _: pb.FindEnded) -> Iterator[pb.Attachment]:
    found = [row.key for row in reader.scan(ENDED, b"", b"\xff", limit=_AT_ONCE)]
    for value in reader.get_values(ATTACHMENTS, found):
        if value is not None:
            yield pb.Attachment.FromString(value)


async def _carry_out_elsewhere(node: NodeApi, shard: ShardRef) -> None:
    """Delete attached rows in other shards after their lease has ended; failures are retried."""
    failed: Exception | None = None
    async for answers in node.read_shards(pb.FindEnded(), pb.Attachment, shards=[shard.shard]):
        done = []
        for attachment in answers.rows:
            try:
                await _propose(node, attachment)
            except Exception as error:  # noqa: BLE001 - one row never keeps the others
                failed = error
            else:
                done.append(keys.pack(attachment.lease, attachment.id))
        if done:
            await node.propose(pb.ForgetAttachments(keys=done), BatchReply)
    if failed is not None:
        raise failed


async def _propose(node: NodeApi, attachment: pb.Attachment) -> None:
    try:
        command = node.public_command(attachment.on_end, Caller(via="controller"))
        await node.propose(command, Empty, fence=_fence_of_end(attachment))
    except Rejected as refusal:
        if refusal.code in _PASSING:
            raise
    except Invalid:
        return


def _check(new: pb.NewAttachment, path: str) -> None:
    check_text(f"{path}on_end.type", new.on_end.type, LONGEST_ID)
    check_bytes(f"{path}on_end.payload", new.on_end.payload, _LARGEST)
    for field, _ in new.on_end.ListFields():
        if field.name not in ("type", "payload"):
            raise Invalid(f"{path}on_end.{field.name}", "must not be set")


async def _admit(node: NodeApi, caller: Caller, command: pb.AttachToLeases) -> None:
    """Refuse a command that the caller may not send now, not when the lease ends."""
    for position, new in enumerate(command.attachments):
        try:
            node.public_command(new.on_end, caller)
        except Invalid as invalid:
            field = f"attachments[{position}].on_end.{invalid.field}"
            raise Invalid(field, invalid.reason) from None


ENDED_ONES: Final = Query(
    message=pb.FindEnded,
    group=GROUP,
    run=_find_ended,
    order=lambda attachment: keys.pack(attachment.lease, attachment.id),
)
ENDING: Final = Controller(
    name="coordination.ending",
    group=GROUP,
    run_once=_carry_out_elsewhere,
    interval_s=_INTERVAL_S,
    scope="each_shard",
    wake_on=(ATTACHMENTS,),
)

_END: Final = Command(
    type=pb.DeleteLeases.DESCRIPTOR.full_name,
    payload=pb.DeleteLeases(names=["jobs/8d03"], missing_ok=True).SerializeToString(),
)

ATTACHMENT: Final = Resource(
    family=ATTACHMENTS,
    group=GROUP,
    row=pb.Attachment,
    service=pb.DESCRIPTOR.services_by_name["AttachmentService"],
    key=("lease", "id"),
    shard_by=("lease",),
    storage=Storage(shard_of=place_of),
    check_key={"lease": check_name, "id": text_of(LONGEST_ID, empty=True)},
    view=View(cli=False),
    verbs={
        "Attach": Verb(
            apply=_attach,
            check=_check,
            admission=Admission(admit=_admit),
            item=Item(key=lambda item: keys.pack(item.lease), repeats=True),
            examples=(
                pb.NewAttachment(lease="jobs/4f1c", id="jobs/workers/1", on_end=_END),
                pb.NewAttachment(lease="jobs/4f1c", id="jobs/workers/2", on_end=_END),
            ),
        ),
        "Detach": Verb(
            apply=_detach,
            check=lambda name, path: check_id(f"{path}id", name.id),
            item=Item(repeats=True),
            examples=(pb.AttachmentName(lease="jobs/4f1c", id="jobs/workers/2"),),
        ),
        "Forget": Verb(
            apply_all=_forget,
            message=pb.ForgetAttachments,
            examples=(keys.pack("jobs/4f1c", "jobs/workers/1"),),
        ),
    },
)
