"""The methods of subscription groups that are not derived: their answers are older than batches."""

from typing import Final

from quorate.plugin import NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.answers import each_reply
from quorate_offset.v1 import subscription_group_service_pb2 as pb
from quorate_offset.v1.commands_pb2 import PutSubscriptionGroupReply


class Changes:
    """Changes and deletes subscription groups."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def PutGroups(
        self, request: pb.PutGroupsRequest, context: object
    ) -> pb.PutGroupsResponse:
        """Make or change many groups."""
        reply = await self._node.propose(request, BatchReply)
        return pb.PutGroupsResponse(
            groups=each_reply(reply, PutSubscriptionGroupReply),
            refusals=reply.refusals,
            revisions=reply.revisions,
        )

    async def DeleteGroups(
        self, request: pb.DeleteGroupsRequest, context: object
    ) -> pb.DeleteGroupsResponse:
        """Delete many groups."""
        reply = await self._node.propose(request, BatchReply)
        return pb.DeleteGroupsResponse(refusals=reply.refusals, revisions=reply.revisions)
