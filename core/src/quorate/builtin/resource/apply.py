"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.builtin.resource.families import RESOURCES, resource_key
from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    PutResource,
    PutResources,
    Resource,
    StoredResource,
)


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
    return answer_each(txn, command.puts, put_resource)


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
    return answer_each(txn, command.deletions, delete_resource)


def _compare(path: str, expected: int, found: int) -> None:
    if found == expected:
        return
    stands = f"has revision {found}" if found else "is not there"
    wanted = f"revision {expected} is expected" if expected else "none is expected"
    raise Rejected("REVISION_MISMATCH", f"resource {path} {stands}, and {wanted}: read it again")
