"""Asks the leaders of shards on other nodes to change who belongs to them."""

from __future__ import annotations

from typing import Any, Final

import grpc
import grpc.aio
from google.rpc import status_pb2

from quorate.groups.members import AskedStep, StepTaken
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError, UnansweredInTimeError
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.rpc.status import DETAILS_KEY, error_of
from quorate.v1 import node_pb2


class NodeMemberSteps:
    """Implements `StepPort` over the channels to the nodes."""

    def __init__(self, channels: NodeChannels) -> None:
        self._channels: Final = channels

    async def change_member(self, node: str, asked: AskedStep) -> StepTaken:
        """Have the leader of a shard take a step."""
        try:
            route = await self._channels.route(node, asked.timeout_s)
            answer = await route.stub.ChangeMember(
                node_pb2.ChangeMemberRequest(
                    shard=str(asked.shard),
                    node=asked.goal.node,
                    replica=asked.goal.replica or 0,
                    number=asked.number,
                ),
                timeout=asked.timeout_s,
                metadata=route.metadata,
            )
        except UnreachableError as error:
            raise NotProposedError(f"{error}; nothing was changed") from None
        except grpc.aio.AioRpcError as error:
            raise _raised(node, asked, error) from None
        return StepTaken(answer.step, answer.done)


def _raised(node: str, asked: AskedStep, error: grpc.aio.AioRpcError) -> Exception:
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == DETAILS_KEY:
            return error_of(status_pb2.Status.FromString(value), asked.shard)
    if error.code() is grpc.StatusCode.PERMISSION_DENIED:
        return NotProposedError(f"{node} refuses this node: {error.details()}; nothing was changed")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return UnansweredInTimeError(f"the deadline passed before {node} had changed a member")
    return OutcomeUnknownError(f"the way to {node} broke under a change: {error.details()}")
