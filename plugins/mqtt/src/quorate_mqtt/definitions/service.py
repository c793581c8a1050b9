"""What the services of all kinds do with a request: a command is proposed, rows are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from quorate.plugin import NodeApi, Rejected, propose_fitting
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch, only_reply
from quorate_mqtt.definitions.kind import D, Kind, key_of
from quorate_mqtt.definitions.vocabulary import UPDATE_MASK, Writes
from quorate_mqtt.rows.reading import check_lookups
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest


@dataclass(frozen=True, kw_only=True)
class Written(Generic[D]):
    """The definitions of a kind, as a service of a node makes and changes them."""

    node: NodeApi
    kind: Kind[D]
    writes: Writes[D]

    async def create(self, definition: D) -> D:
        """Make one definition."""
        return await self._write(self.writes.creation, definition)

    async def update(self, definition: D, mask: FieldMask) -> D:
        """Change what is given of one definition."""
        self.writes.check_update(definition, "definition.", mask=mask, mask_path=UPDATE_MASK)
        return await self._propose(self.writes.update_of([definition], mask))

    async def put(self, definition: D) -> D:
        """Make or replace one definition."""
        return await self._write(self.writes.put, definition)

    async def create_each(self, command: Message) -> BatchReply:
        """Make many definitions; one that cannot be made does not keep the others from it."""
        return await self._write_each(self.writes.creation, command)

    async def update_each(self, command: Message) -> BatchReply:
        """Change what is given of many definitions."""
        return await propose_fitting(
            self.node, command, self.writes.change.field, self.writes.check_of(command)
        )

    async def put_each(self, command: Message) -> BatchReply:
        """Make or replace many definitions."""
        return await self._write_each(self.writes.put, command)

    async def _write(self, batch: Batch[D], definition: D) -> D:
        self.writes.check(definition, "definition.")
        return await self._propose(batch.of([definition]))

    async def _propose(self, command: Message) -> D:
        return only_reply(await self.node.propose(command, BatchReply), self.kind.row)

    async def _write_each(self, batch: Batch[D], command: Message) -> BatchReply:
        return await propose_fitting(self.node, command, batch.field, self.writes.check)


@dataclass(frozen=True, kw_only=True)
class Named(Generic[D]):
    """The same, as far as it is done by name: to delete and to read."""

    node: NodeApi
    kind: Kind[D]

    async def delete(self, named: DefinitionName) -> Empty:
        """Delete one definition."""
        self.kind.check(named)
        reply = await self.node.propose(self.kind.deletion.of([named]), BatchReply)
        return only_reply(reply, Empty)

    async def delete_each(self, command: Message) -> BatchReply:
        """Delete many definitions."""
        field = self.kind.deletion.field
        return await propose_fitting(self.node, command, field, self.kind.check)

    async def get(self, named: DefinitionName) -> D:
        """Read one definition."""
        self.kind.check(named)
        found = await self.kind.shelf.get(self.node, key_of(named))
        if found is None:
            raise Rejected(
                "NOT_FOUND", f"there is no {self.kind.noun} {named.name} of {named.tenant}"
            )
        return found

    async def get_each(self, request: GetDefinitionsRequest) -> Sequence[D | None]:
        """Read many definitions, in the order of their names in the request."""
        check_lookups("names", request.names, self.kind.check)
        return await self.kind.shelf.get_each(self.node, [key_of(each) for each in request.names])
