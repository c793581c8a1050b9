"""The gRPC service: each call becomes a query."""

from typing import Final

from quorate.plugin import GrpcService, NodeApi

from quorate_spark.v1 import service_pb2
from quorate_spark.v1.queries_pb2 import GetLoadQuery, ListLoadsQuery, LoadView
from quorate_spark.v1.service_pb2 import (
    GetLoadRequest,
    GetLoadResponse,
    ListLoadsRequest,
    ListLoadsResponse,
)
from quorate_spark.validation import check_load_id, check_token

PAGE_SIZE: Final = 100
LARGEST_PAGE: Final = 1_000


class LoadService:
    """Tells of loads on every node."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def GetLoad(self, request: GetLoadRequest, context: object) -> GetLoadResponse:
        """Tell of one load and its parts."""
        check_load_id(request)
        query = GetLoadQuery(load_id=request.load_id)
        async for load in self._node.query(query, LoadView):
            return GetLoadResponse(load=load)
        return GetLoadResponse()

    async def ListLoads(self, request: ListLoadsRequest, context: object) -> ListLoadsResponse:
        """List a page of the loads."""
        check_token(request.page_token)
        size = min(request.page_size or PAGE_SIZE, LARGEST_PAGE)
        query = ListLoadsQuery(after=request.page_token, limit=size)
        page = [load async for load in self._node.query(query, LoadView)]
        # The page behind the last one is empty.
        more = len(page) == size
        return ListLoadsResponse(loads=page, next_page_token=page[-1].load.load_id if more else "")


LOADS: Final = GrpcService(
    service=service_pb2.DESCRIPTOR.services_by_name["LoadService"],
    servicer=LoadService,
)
