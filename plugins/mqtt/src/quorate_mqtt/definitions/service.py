"""What the services of all kinds do with a request: a command is proposed, rows are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.plugin import NodeApi, Rejected, propose_fitting
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch, only_reply
from quorate_mqtt.definitions.kind import D, Kind, key_of
from quorate_mqtt.definitions.vocabulary import Writes
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

    async def update(self, definition: D) -> D:
        """Replace what one definition says."""
        return await self._write(self.writes.replacement, definition)

    async def create_each(self, command: Message) -> BatchReply:
        """Make many definitions; one that cannot be made does not keep the others from it."""
        return await self._write_each(self.writes.creation, command)

    async def update_each(self, command: Message) -> BatchReply:
        """Replace what many definitions say."""
        return await self._write_each(self.writes.replacement, command)

    async def _write(self, batch: Batch[D], definition: D) -> D:
        self.writes.check(definition, "definition.")
        reply = await self.node.propose(batch.of([definition]), BatchReply)
        return only_reply(reply, self.kind.row)

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
