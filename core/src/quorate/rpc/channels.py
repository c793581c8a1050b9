"""Connections to the other nodes: one for each, reused by everything that is asked of it."""

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple

from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.wire import encode_handshake
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel, State
from quorate.plugin.advanced import Stub
from quorate.shards.timing import end
from quorate.v1 import node_pb2

#: What nodes ask each other.
SERVICE: Final = node_pb2.DESCRIPTOR.services_by_name["NodeService"]
#: The metadata in which a call says which node makes it.
PEER_KEY: Final = "quorate-peer-bin"

#: The header that confirms to the asking node that its stream was admitted.
ADMITTED_KEY: Final = "quorate-admitted"

#: A challenge is asked for again after this time, in case the end of its connection went unseen.
_FRESH_S: Final = 5.0

_SETTLED: Final = frozenset(
    {
        State.READY,
        State.TRANSIENT_FAILURE,
        State.SHUTDOWN,
    }
)


class UnreachableError(Exception):
    """A node cannot be reached: nothing was sent."""


class Route(NamedTuple):
    """An established connection, and the metadata by which this node identifies itself on it."""

    channel: Channel
    #: The other node's `NodeService`.
    stub: Stub
    metadata: tuple[tuple[str, bytes], ...]


@dataclass(eq=False, slots=True)
class _Known:
    address: str
    #: The certificates that it was opened with.
    certificates: int
    channel: Channel
    stub: Stub
    #: The challenge for the proof of the token, on the established connection; None: not asked yet.
    challenge: bytes | None = None
    asked_at: float = 0.0
    #: Forgets the challenge with its connection.
    following: asyncio.Task[None] | None = None

    async def follow(self) -> None:
        """Forget the challenge whenever the connection is lost: another one has its own."""
        while (state := self.channel.get_state()) is not State.SHUTDOWN:
            if state is not State.READY:
                self.challenge = None
            await self.channel.wait_for_state_change(state)

    async def close(self) -> None:
        """End the connection."""
        await end(self.following)
        await self.channel.close(None)


class NodeChannels:
    """The channels of a node to the other nodes of its `PeerNetwork`."""

    def __init__(self, network: PeerNetwork, *, connect_s: float = 1.0) -> None:
        self._network: Final = network
        self._connect_s: Final = connect_s
        self._known: Final[dict[str, _Known]] = {}
        self._closing: Final[set[asyncio.Task[None]]] = set()

    async def route(self, node: str, timeout_s: float) -> Route:
        """Return a connection to a node once it is established; raises `UnreachableError`."""
        known = self._known_as(node)
        try:
            async with asyncio.timeout(min(timeout_s, self._connect_s)):
                stands = await _connected(known.channel)
        except TimeoutError:
            stands = False
        if not stands:
            raise UnreachableError(f"{node} does not answer at {self._network.address(node)}")
        challenge = known.challenge
        if challenge is None or known.asked_at < monotonic() - _FRESH_S:
            try:
                challenge = await self._network.challenge(known.channel, timeout_s)
            except CallError as error:
                raise UnreachableError(f"{node} does not answer: {error.details()}") from None
            known.challenge, known.asked_at = challenge, monotonic()
        shown = encode_handshake(self._network.handshake(node, challenge))
        return Route(known.channel, known.stub, ((PEER_KEY, shown),))

    async def close(self) -> None:
        """End every connection."""
        known = list(self._known.values())
        self._known.clear()
        await asyncio.gather(*self._closing, *(each.close() for each in known))

    def _known_as(self, node: str) -> _Known:
        address = self._network.address(node)
        certificates = self._network.certificates
        known = self._known.get(node)
        if known is not None and known.address == address:
            # An established connection keeps the certificates that it began with.
            ready = known.channel.get_state() is State.READY
            if ready or known.certificates == certificates:
                return known
        if known is not None:
            del self._known[node]
            closing = asyncio.create_task(known.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        if address is None:
            raise UnreachableError(f"no address of {node} is known")
        # What is too large was refused where it came from.
        channel = self._network.open_channel(node, address, largest=None)
        made = self._known[node] = _Known(address, certificates, channel, Stub(channel, SERVICE))
        made.following = asyncio.create_task(made.follow())
        return made


async def _connected(channel: Channel) -> bool:
    """Wait until a channel stands, or has failed once: the caller tries again."""
    state = channel.get_state(try_to_connect=True)
    while state not in _SETTLED:
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)
    return state is State.READY
