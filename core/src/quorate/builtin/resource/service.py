"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final

from google.protobuf.empty_pb2 import Empty

from quorate.builtin.resource.validation import check_get, check_gets, check_list
from quorate.plugin import GrpcService, NodeApi, Rejected
from quorate.v1 import resource_pb2_grpc
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    FoundResources,
    GetResource,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
    ResourcePage,
    StoredResource,
)


class ResourceService(resource_pb2_grpc.ResourceServiceServicer):
    """Serves resources on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Put(self, request: PutResource, context: object) -> StoredResource:
        """Write one resource."""
        return await self._node.propose(request, StoredResource)

    async def PutBatch(self, request: PutResources, context: object) -> BatchReply:
        """Write many resources in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Get(self, request: GetResource, context: object) -> StoredResource:
        """Read one resource."""
        check_get(request)
        found = await self._found(GetResources(paths=[request.path]))
        if not found.resources:
            raise Rejected("NOT_FOUND", f"there is no resource {request.path}")
        return found.resources[0]

    async def GetBatch(self, request: GetResources, context: object) -> FoundResources:
        """Read those of many resources that there are."""
        check_gets(request)
        return await self._found(request)

    async def Delete(self, request: DeleteResource, context: object) -> Empty:
        """Delete one resource."""
        return await self._node.propose(request, Empty)

    async def DeleteBatch(self, request: DeleteResources, context: object) -> BatchReply:
        """Delete many resources in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def List(self, request: ListResources, context: object) -> ResourcePage:
        """List a page of resources."""
        check_list(request)
        [page] = [page async for page in self._node.query(request, ResourcePage)]
        return page

    async def _found(self, query: GetResources) -> FoundResources:
        [found] = [found async for found in self._node.query(query, FoundResources)]
        return found


RESOURCE: Final = GrpcService(
    full_name="quorate.v1.ResourceService",
    add_to_server=resource_pb2_grpc.add_ResourceServiceServicer_to_server,
    servicer=ResourceService,
)
