"""Answers the calls of the other nodes of the cluster, and of no other callers."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from typing import Final

from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import certificate
from quorate.consensus.peer.wire import Handshake, MalformedMessageError, decode_handshake
from quorate.http2.grpc.codes import Code
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.rpc import deadline, feed_serving
from quorate.rpc.channels import ADMITTED_KEY, PEER_KEY, SERVICE
from quorate.rpc.forward_serving import ForwardServing, parsed_shard
from quorate.rpc.identities import Guard
from quorate.rpc.methods import Context
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import NotProposedError
from quorate.shards.router import Router
from quorate.shards.routing.forwarding import ForwardedQuery
from quorate.shards.shard.removal import Membership
from quorate.shards.watching.watches import Watches
from quorate.topology.changes.members import AskedStep, Goal, StepTaken
from quorate.v1 import node_pb2 as pb

#: Approximate bytes of an answer to a query in one message.
PART_BYTES: Final = 1 << 20
#: Time for a change of members without a deadline.
_STEP_S: Final = 10.0


@dataclass(eq=False)
class NodeService:
    """Answers a node with a handshake that the peers' streams accept, too."""

    _network: PeerNetwork
    _router: Router
    _membership: Callable[[ShardId], Membership | None]
    _change_member: Callable[[AskedStep], Awaitable[StepTaken]]
    _wall_ms: Callable[[], int]
    _watching: Callable[[], Watches]
    #: Entered while forwarded commands are executed.
    _under_way: Callable[[], AbstractContextManager[None]]
    #: Called with each call of a node, to exempt its connection from clients' limits.
    _trust: Callable[[Context], None]
    #: Checks the rights of other nodes' callers again.
    _guard: Guard
    #: The answer of this node to a census.
    _census: Callable[[], pb.ClockResponse] = pb.ClockResponse

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self)

    async def Forward(self, requests: AsyncIterable[pb.ForwardRequest], context: Context) -> None:
        """Propose commands here as they come, and answer each part when it has ended."""
        asker = await self.admit(context)
        await context.send_initial_metadata(((ADMITTED_KEY, "1"),))

        def refused() -> Exception | None:
            # A stream may outlast its node's membership.
            reason = self._network.judge_caller(asker, context)
            return None if reason is None else NotProposedError(f"this node refuses it: {reason}")

        await ForwardServing(self._router, refused, self._under_way).serve(requests, context.write)

    async def Query(
        self, request: pb.ShardQueryRequest, context: Context
    ) -> AsyncIterator[pb.ShardQueryResponse]:
        """Answer a query from the replica here, in parts."""
        await self.admit(context)
        if request.method:
            self._guard.ask_again(request.caller, request.method, request.request)
        found = await self._router.reads.accept(
            ForwardedQuery(
                shard=parsed_shard(request.shard),
                type=request.type,
                payload=request.payload,
                row=request.row,
                consistency="stale" if request.stale else "linearizable",
                min_revision=request.min_revision,
                timeout_s=_timeout_s(request.timeout_ms),
                slots_version=request.slots_version,
            )
        )
        for rows in parts(found.rows):
            yield pb.ShardQueryResponse(
                revision=found.as_of.revision,
                age_ms=found.as_of.age_ms,
                published=found.as_of.published,
                rows=rows,
            )

    async def Mark(self, request: pb.MarkRequest, context: Context) -> pb.MarkResponse:
        """Return a revision of a shard that includes every write answered before."""
        await self.admit(context)
        timeout_s = _timeout_s(request.timeout_ms)
        point = await self._watching().read_point_here(parsed_shard(request.shard), timeout_s)
        return pb.MarkResponse(revision=point.revision, generation=point.generation)

    async def Feed(self, requests: AsyncIterable[pb.FeedRequest], context: Context) -> None:
        """Give the pages of the replica here, one for each request."""
        await self.admit(context)
        async with aclosing(feed_serving.serve(requests, self._watching().feed_here)) as responses:
            async for response in responses:
                await context.write(response)

    async def Membership(
        self, request: pb.MembershipRequest, context: Context
    ) -> pb.MembershipResponse:
        """Return the committed members of a shard, as far as this node knows.

        A removed node may ask: it learns of its removal here.
        """
        await self.admit(context, of_old=True)
        found = self._membership(parsed_shard(request.shard))
        if found is None:
            return pb.MembershipResponse()
        return pb.MembershipResponse(index=found.index, configuration=found.configuration.encode())

    async def ChangeMember(
        self, request: pb.ChangeMemberRequest, context: Context
    ) -> pb.ChangeMemberResponse:
        """Take a shard that is led here one step nearer to having a member, or to not having it."""
        await self.admit(context)
        shard = parsed_shard(request.shard)
        if not request.node:
            raise Invalid("node", "name the member that is to change")
        taken = await self._change_member(
            AskedStep(
                shard=shard,
                goal=Goal(request.node, request.replica or None, None if request.learner else True),
                number=request.number,
                timeout_s=deadline.within_s(_STEP_S),
            )
        )
        return pb.ChangeMemberResponse(step=taken.status, done=taken.done)

    async def Clock(self, request: pb.ClockRequest, context: Context) -> pb.ClockResponse:
        """Return the wall clock, and the shards led here."""
        await self.admit(context)
        answer = self._census()
        answer.wall_ms = self._wall_ms()
        return answer

    async def admit(self, context: Context, *, of_old: bool = False) -> Handshake:
        """Let a node of this cluster in, and end the call of anyone else.

        With `of_old` it need not be a member any more.
        """
        handshake = shown_handshake(context)
        if handshake is None:
            raise Invalid(PEER_KEY, "it is missing; only nodes of the cluster may call this")
        reason = self._network.judge_caller(handshake, context, of_old=of_old)
        if reason is not None:
            await context.abort(Code.PERMISSION_DENIED, reason)
        self._trust(context)
        return handshake


def shown_handshake(context: Context) -> Handshake | None:
    """Return the handshake in a call of a node; None for other callers; raises `Invalid`."""
    for key, value in context.invocation_metadata() or ():
        if key == PEER_KEY and isinstance(value, bytes):
            try:
                return decode_handshake(value)
            except MalformedMessageError as error:
                raise Invalid(PEER_KEY, str(error)) from None
    return None


def node_of(network: PeerNetwork, context: Context) -> str:
    """Return the node of the cluster that makes a call, as its handshake proves; "": none does.

    Raises `Rejected` (UNAUTHENTICATED) for a node's certificate without a handshake, and for a weak
    one.
    """
    handshake = shown_handshake(context)
    if handshake is not None and network.judge_caller(handshake, context) is None:
        return handshake.peer.node
    shown = certificate(context)
    if shown is None:
        return ""
    if network.is_weak(shown):
        raise Rejected(
            "UNAUTHENTICATED",
            "the key of the certificate is of RSA with fewer than 2,048 bits, which can be broken: "
            "show one with a longer key, or of an elliptic curve",
        )
    if network.is_certified(shown):
        raise Rejected(
            "UNAUTHENTICATED",
            "the certificate is a node's, which is not enough to call as that node, and no user "
            "has it: show a certificate of a user",
        )
    return ""


def parts(rows: Sequence[bytes]) -> list[list[bytes]]:
    """Split rows into at least one part, each of about `PART_BYTES`."""
    found: list[list[bytes]] = [[]]
    size = 0
    for row in rows:
        if size >= PART_BYTES:
            found.append([])
            size = 0
        found[-1].append(row)
        size += len(row)
    return found


def _timeout_s(timeout_ms: int) -> float:
    timeout_s = timeout_ms / 1_000
    return min(timeout_s, deadline.within_s(timeout_s))
