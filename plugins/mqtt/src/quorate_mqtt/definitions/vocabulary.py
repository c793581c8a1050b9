"""The words that all kinds share: commands that make, replace and delete, and their handlers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from quorate.plugin import Command, DataRoute, GrpcService, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions import apply
from quorate_mqtt.definitions.kind import UPDATES, D, Kind, key_of
from quorate_mqtt.names import check_each
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import tenant_shard_of
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

UPDATE_MASK: Final = "update_mask"


@dataclass(frozen=True, kw_only=True)
class Writes(Generic[D]):
    """The commands that write definitions of a kind as they are given."""

    creation: Batch[D]
    #: Has an `update_mask` beside the definitions.
    change: Batch[D]
    put: Batch[D]
    #: Refuses a definition that is wrong whatever the rows say; it is told where that stands.
    check: Callable[[D, str], None]

    def update_of(self, definitions: Sequence[D], mask: FieldMask) -> Message:
        """Return the command that changes of definitions what a mask names."""
        command = self.change.of(definitions)
        mask_of(command).CopyFrom(mask)
        return command

    def check_update(self, definition: D, path: str, *, mask: FieldMask, mask_path: str) -> None:
        """Refuse an update that leads to nothing that a definition can be."""
        UPDATES.check(definition, path, whole=self.check, mask=mask, mask_path=mask_path)

    def check_of(self, command: Message) -> Callable[[D, str], None]:
        """Return what refuses an item of a command of updates."""
        mask = mask_of(command)
        return lambda item, path: self.check_update(item, path, mask=mask, mask_path=UPDATE_MASK)

    def check_updates(self, command: Message) -> None:
        """Refuse a command of updates with a wrong item, and say which one it is."""
        check_each(self.change.field, self.change.items(command), self.check_of(command))


def mask_of(command: Message) -> FieldMask:
    """Return what a command of updates says is given."""
    mask: FieldMask = getattr(command, UPDATE_MASK)
    return mask


def resource(
    kind: Kind[D], writes: Writes[D], *, examples: Sequence[D], service: GrpcService
) -> Resource:
    """Return what a kind declares whose commands hold the definitions themselves."""
    names = [DefinitionName(tenant=each.tenant, name=each.name) for each in examples]
    return Resource(
        families=(kind.column_family,),
        commands=(
            _command(writes.creation, writes.check, examples),
            writes.change.command(
                key=key_of,
                shard_of=tenant_shard_of,
                validate=writes.check_updates,
                public=True,
                examples=(examples,),
            ),
            _command(writes.put, writes.check, examples),
            deletion(kind, names),
        ),
        routes=(
            _route(kind, writes.creation, apply.create),
            _update_route(kind, writes),
            _route(kind, writes.put, apply.put),
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


def _update_route(kind: Kind[D], writes: Writes[D]) -> DataRoute[Any]:
    def check(row: D) -> None:
        writes.check(row, "")

    def update_each(txn: Txn, command: Message) -> BatchReply:
        mask = mask_of(command)
        items = writes.change.items(command)
        return answer_each(txn, items, lambda txn, each: apply.update(kind, txn, each, mask, check))

    return DataRoute(message=writes.change.message, apply=update_each)
