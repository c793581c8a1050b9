"""The handlers: pure functions of a transaction and a command, run on every replica."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from quorate.builtin.resource.families import RESOURCES, resource_key
from quorate.plugin import Rejected, Txn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    PutResource,
    PutResources,
    Resource,
    StoredResource,
)

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference


def put_resource(txn: Txn, command: PutResource) -> StoredResource:
    """Write a resource, if the one that stands has the revision that is expected."""
    key = resource_key(command.path)
    if command.HasField("expected_revision"):
        row = txn.get_row(RESOURCES, key)
        _compare(command.path, command.expected_revision, row.revision if row is not None else 0)
    resource = Resource(path=command.path, value=command.value, updated_at_ms=txn.proposed_at_ms)
    txn.put(RESOURCES, key, resource.SerializeToString(deterministic=True))
    return StoredResource(resource=resource, revision=txn.revision)


def put_resources(txn: Txn, command: PutResources) -> BatchReply:
    """Write many resources."""
    return _answer_each(command.puts, lambda put: put_resource(txn, put))


def delete_resource(txn: Txn, command: DeleteResource) -> None:
    """Delete a resource, if it has the revision that is expected."""
    key = resource_key(command.path)
    row = txn.get_row(RESOURCES, key)
    if row is None:
        raise Rejected("NOT_FOUND", f"there is no resource {command.path}")
    if command.HasField("expected_revision"):
        _compare(command.path, command.expected_revision, row.revision)
    txn.delete(RESOURCES, key)


def delete_resources(txn: Txn, command: DeleteResources) -> BatchReply:
    """Delete many resources."""
    return _answer_each(command.deletions, lambda deletion: delete_resource(txn, deletion))


def _compare(path: str, expected: int, found: int) -> None:
    if found == expected:
        return
    stands = f"has revision {found}" if found else "is not there"
    wanted = f"revision {expected} is expected" if expected else "none is expected"
    raise Rejected("REVISION_MISMATCH", f"resource {path} {stands}, and {wanted}: read it again")


def _answer_each(items: Sequence[I], apply: Callable[[I], Message | None]) -> BatchReply:
    """Apply items one by one; each refuses before it writes, so that the others stand."""
    answer = BatchReply(items=len(items))
    for position, item in enumerate(items):
        try:
            reply = apply(item)
        except Rejected as refusal:
            reply = None
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        answer.replies.append(b"" if reply is None else reply.SerializeToString(deterministic=True))
    return answer
