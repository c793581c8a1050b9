"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty

from quorate.builtin.cluster.coordinators.rows import row_key
from quorate.builtin.cluster.coordinators.validation import (
    check_assignment,
    check_count,
    check_list,
    check_release,
)
from quorate.plugin import GrpcService, NodeApi, Rejected, keys, propose_fitting, sift
from quorate.v1 import coordinator_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    Coordinator,
    FindCoordinators,
    ListCoordinators,
    ListCoordinatorsRequest,
    ListCoordinatorsResponse,
    ReleaseCoordinator,
    ReleaseCoordinators,
)

PAGE_SIZE: Final = 100
LARGEST_PAGE: Final = 1_000


class CoordinatorServicer:
    """Serves coordinators on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: AssignCoordinator, context: object) -> Coordinator:
        """Return the coordinator of a key, which is assigned first if there is none."""
        check_assignment(request)
        reply = await self._get([request])
        _raise_refusal(reply)
        return Coordinator.FromString(reply.replies[0])

    async def GetBatch(self, request: AssignCoordinators, context: object) -> BatchReply:
        """Return those of many keys; one that is refused does not keep the others from it."""
        check_count(request)
        if not request.coordinators:
            return BatchReply()
        sifted = sift("coordinators", request.coordinators, check_assignment)
        return await sifted.carried_out(self._get)

    async def Release(self, request: ReleaseCoordinator, context: object) -> Empty:
        """Forget a key."""
        check_release(request)
        command = ReleaseCoordinators(coordinators=[request])
        _raise_refusal(await self._node.propose(command, BatchReply))
        return Empty()

    async def ReleaseBatch(self, request: ReleaseCoordinators, context: object) -> BatchReply:
        """Forget many keys in one proposal."""
        return await propose_fitting(self._node, request, "coordinators", check_release)

    async def List(
        self, request: ListCoordinatorsRequest, context: object
    ) -> ListCoordinatorsResponse:
        """List a page of the coordinators that fit."""
        check_list(request)
        start, end = keys.prefix(request.role) if request.role else keys.prefix()
        size = min(request.page_size or PAGE_SIZE, LARGEST_PAGE)
        if request.page_token:
            # A token of another role begins after every row of this one.
            start = min(max(start, keys.behind(request.page_token)), end)
        query = ListCoordinators(start=start, end=end, limit=size)
        found = [row async for row in self._node.query(query, Coordinator)]
        return ListCoordinatorsResponse(
            coordinators=[row for row in found if request.broker in ("", row.broker)],
            next_page_token=row_key(found[-1]) if len(found) == size else b"",
        )

    async def _get(self, wanted: Sequence[AssignCoordinator]) -> BatchReply:
        """Read what stands, and propose to assign the rest: most calls write nothing."""
        query = FindCoordinators(coordinators=wanted)
        found = {row_key(row): row async for row in self._node.query(query, Coordinator)}
        if all(row_key(each) in found for each in wanted):
            rows = (found[row_key(each)] for each in wanted)
            return BatchReply(
                items=len(wanted),
                replies=[row.SerializeToString(deterministic=True) for row in rows],
            )
        return await self._node.propose(AssignCoordinators(coordinators=wanted), BatchReply)


def _raise_refusal(reply: BatchReply) -> None:
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)


SERVICE: Final = GrpcService(
    service=coordinator_pb2.DESCRIPTOR.services_by_name["CoordinatorService"],
    servicer=CoordinatorServicer,
)
