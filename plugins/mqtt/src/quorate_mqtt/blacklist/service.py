"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.blacklist.families import ENTRIES
from quorate_mqtt.blacklist.writes import WRITES
from quorate_mqtt.definitions.service import Named, Written
from quorate_mqtt.names import check_choice, check_identity
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.v1 import blacklist_pb2
from quorate_mqtt.v1.blacklist_pb2 import (
    BlacklistEntry,
    BlacklistEntryLookup,
    BlacklistEntryLookups,
    BlacklistEntryPage,
    BlacklistEntryRequest,
    BlacklistKind,
    CreateBlacklistEntriesCommand,
    DeleteBlacklistEntriesCommand,
    ListBlacklistEntriesRequest,
    PutBlacklistEntriesCommand,
    UpdateBlacklistEntriesCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest


class BlacklistServicer:
    """Serves the blacklist on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._written: Final = Written(node=node, kind=ENTRIES, writes=WRITES)
        self._named: Final = Named(node=node, kind=ENTRIES)

    async def Create(self, request: BlacklistEntryRequest, context: object) -> BlacklistEntry:
        """Make one."""
        return await self._written.create(request.definition)

    async def CreateBatch(
        self, request: CreateBlacklistEntriesCommand, context: object
    ) -> BatchReply:
        """Make many in one proposal a shard."""
        return await self._written.create_each(request)

    async def Update(self, request: BlacklistEntryRequest, context: object) -> BlacklistEntry:
        """Change what is given of one."""
        return await self._written.update(request.definition, request.update_mask)

    async def UpdateBatch(
        self, request: UpdateBlacklistEntriesCommand, context: object
    ) -> BatchReply:
        """Change what is given of many in one proposal a shard."""
        return await self._written.update_each(request)

    async def Put(self, request: BlacklistEntryRequest, context: object) -> BlacklistEntry:
        """Make or replace one."""
        return await self._written.put(request.definition)

    async def PutBatch(self, request: PutBlacklistEntriesCommand, context: object) -> BatchReply:
        """Make or replace many in one proposal a shard."""
        return await self._written.put_each(request)

    async def Delete(self, request: DefinitionName, context: object) -> Empty:
        """Delete one."""
        return await self._named.delete(request)

    async def DeleteBatch(
        self, request: DeleteBlacklistEntriesCommand, context: object
    ) -> BatchReply:
        """Delete many in one proposal a shard."""
        return await self._named.delete_each(request)

    async def Get(self, request: DefinitionName, context: object) -> BlacklistEntry:
        """Read one."""
        return await self._named.get(request)

    async def GetBatch(
        self, request: GetDefinitionsRequest, context: object
    ) -> BlacklistEntryLookups:
        """Read many, in the order of the request."""
        found = await self._named.get_each(request)
        return BlacklistEntryLookups(
            lookups=[BlacklistEntryLookup(definition=each) for each in found]
        )

    async def List(
        self, request: ListBlacklistEntriesRequest, context: object
    ) -> BlacklistEntryPage:
        """List a page."""
        page, token = await ENTRIES.shelf.page(self._node, Range.of(request), _wanted(request))
        return BlacklistEntryPage(entries=page, next_page_token=token)

    async def StreamList(
        self, request: ListBlacklistEntriesRequest, context: object
    ) -> AsyncIterator[BlacklistEntryPage]:
        """List page by page, to the end."""
        pages = ENTRIES.shelf.pages(self._node, Range.of(request), _wanted(request))
        async for page, token in pages:
            yield BlacklistEntryPage(entries=page, next_page_token=token)


def _wanted(request: ListBlacklistEntriesRequest) -> Callable[[BlacklistEntry], bool] | None:
    if not request.kind and not request.subject:
        return None
    if request.kind:
        check_choice("kind", request.kind, BlacklistKind)
    if request.subject:
        check_identity("subject", request.subject)
    return lambda row: (
        (not request.kind or row.kind == request.kind)
        and (not request.subject or row.subject == request.subject)
    )


SERVICE: Final = GrpcService(
    service=blacklist_pb2.DESCRIPTOR.services_by_name["BlacklistService"],
    servicer=BlacklistServicer,
)
