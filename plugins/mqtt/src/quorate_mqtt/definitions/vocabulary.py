"""The words that all kinds share: commands that make, replace and delete, and their handlers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from google.protobuf.message import Message
from quorate.plugin import Command, DataRoute, GrpcService, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions import apply
from quorate_mqtt.definitions.kind import D, Kind, key_of
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import tenant_shard_of
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.definitions_pb2 import DefinitionName


@dataclass(frozen=True, kw_only=True)
class Writes(Generic[D]):
    """The commands that write definitions of a kind as they are given."""

    creation: Batch[D]
    replacement: Batch[D]
    #: Refuses a definition that is wrong whatever the rows say; it is told where that stands.
    check: Callable[[D, str], None]


def resource(
    kind: Kind[D], writes: Writes[D], *, examples: Sequence[D], service: GrpcService
) -> Resource:
    """Return what a kind declares whose commands hold the definitions themselves."""
    names = [DefinitionName(tenant=each.tenant, name=each.name) for each in examples]
    return Resource(
        families=(kind.column_family,),
        commands=(
            _command(writes.creation, writes.check, examples),
            _command(writes.replacement, writes.check, examples),
            deletion(kind, names),
        ),
        routes=(
            _route(kind, writes.creation, apply.create),
            _route(kind, writes.replacement, apply.update),
            deletion_route(kind),
        ),
        services=(service,),
        holdings=(kind.holding,),
    )


def deletion(kind: Kind[D], examples: Sequence[DefinitionName]) -> Command[Any]:
    """Return the command that deletes definitions."""
    return kind.deletion.command(
        key=key_of,
        shard_of=tenant_shard_of,
        check=kind.check,
        public=True,
        examples=(examples,),
    )


def deletion_route(kind: Kind[D]) -> DataRoute[Any]:
    """Return the handler of the command that deletes definitions."""

    def delete_each(txn: Txn, command: Message) -> BatchReply:
        named = kind.deletion.items(command)
        return answer_each(txn, named, lambda txn, each: apply.delete(kind, txn, each))

    return DataRoute(message=kind.deletion.message, apply=delete_each)


def _command(
    batch: Batch[D], check: Callable[[D, str], None], examples: Sequence[D]
) -> Command[Any]:
    return batch.command(
        key=key_of, shard_of=tenant_shard_of, check=check, public=True, examples=(examples,)
    )


def _route(kind: Kind[D], batch: Batch[D], write: Callable[[Kind[D], Txn, D], D]) -> DataRoute[Any]:
    def write_each(txn: Txn, command: Message) -> BatchReply:
        return answer_each(txn, batch.items(command), lambda txn, each: write(kind, txn, each))

    return DataRoute(message=batch.message, apply=write_each, reads=(TENANTS,))
