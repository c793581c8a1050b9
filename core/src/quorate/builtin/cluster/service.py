"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final

from google.protobuf.empty_pb2 import Empty

from quorate.builtin.cluster.validation import check_text, check_wanted
from quorate.plugin import Consistency, GrpcService, NodeApi, Rejected
from quorate.v1 import cluster_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import (
    Broker,
    GetBroker,
    GetBrokerRequest,
    ListBrokers,
    ListBrokersRequest,
    ListBrokersResponse,
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)

PAGE_SIZE: Final = 100
LARGEST_PAGE: Final = 1_000


class ClusterServicer:
    """Serves brokers on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Register(self, request: RegisterBroker, context: object) -> Broker:
        """Register a broker."""
        return await self._node.propose(request, Broker)

    async def RegisterBatch(self, request: RegisterBrokers, context: object) -> BatchReply:
        """Register many brokers in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Unregister(self, request: UnregisterBroker, context: object) -> Empty:
        """Let a broker take its leave."""
        return await self._node.propose(request, Empty)

    async def UnregisterBatch(self, request: UnregisterBrokers, context: object) -> BatchReply:
        """Let many brokers take their leave in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Heartbeat(self, request: SendHeartbeat, context: object) -> Empty:
        """Take a heartbeat."""
        return await self._node.propose(request, Empty)

    async def HeartbeatBatch(self, request: SendHeartbeats, context: object) -> BatchReply:
        """Take many heartbeats in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Get(self, request: GetBrokerRequest, context: object) -> Broker:
        """Tell what a broker registered with."""
        check_text("name", request.name)
        found = self._node.query(
            GetBroker(name=request.name),
            Broker,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        async for broker in found:
            return broker
        raise Rejected("NOT_FOUND", f"broker {request.name} is not registered")

    async def List(self, request: ListBrokersRequest, context: object) -> ListBrokersResponse:
        """List a page of the brokers that fit."""
        _check_list(request)
        size = min(request.page_size or PAGE_SIZE, LARGEST_PAGE)
        query = ListBrokers(
            cluster_name=request.cluster_name,
            role=request.role,
            labels=request.labels,
            after_name=request.page_token,
            limit=size + 1,
        )
        answers = self._node.query(
            query, Broker, consistency=_consistency(request), min_revision=request.min_revision
        )
        found = [broker async for broker in answers]
        page = found[:size]
        more = len(found) > size
        return ListBrokersResponse(brokers=page, next_page_token=page[-1].name if more else "")


def _consistency(request: GetBrokerRequest | ListBrokersRequest) -> Consistency:
    return "stale" if request.stale else "linearizable"


def _check_list(request: ListBrokersRequest) -> None:
    check_wanted("cluster_name", request.cluster_name)
    check_wanted("role", request.role)
    for label, value in request.labels.items():
        check_text("labels", label)
        check_wanted(f"labels[{label}]", value)
    check_wanted("page_token", request.page_token)


SERVICE: Final = GrpcService(
    service=cluster_pb2.DESCRIPTOR.services_by_name["ClusterService"],
    servicer=ClusterServicer,
)
