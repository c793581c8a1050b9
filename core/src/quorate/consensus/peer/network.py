"""The connections between this node and all others, both ways."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from quorate.consensus.formation import FormationRefusedError, Introduction
from quorate.consensus.messages import Alive, Lane, Message, Peer, lane
from quorate.consensus.peer.incoming import Incoming, Refused
from quorate.consensus.peer.link import Link, LinkRefusedError, ended
from quorate.consensus.peer.proofs import Purpose, TokenProofs
from quorate.consensus.peer.streams import (
    CHALLENGE,
    CLIENT_CERTIFICATE,
    INTRODUCE,
    SERVICE,
    Context,
    PeerTls,
    Serves,
    StreamLimits,
    ask,
    ask_challenge,
    certificate,
    end_call,
    open_channel,
    tls_fault,
)
from quorate.consensus.peer.wire import (
    Answer,
    Handshake,
    MalformedMessageError,
    Start,
    decode_introduction,
    encode_introduction,
)
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.codes import Code
from quorate.v1.peer_pb2 import PeerChallenge

OTHER_TOKEN: Final = "its [cluster] token is another one"
OTHER_CLUSTER: Final = "it belongs to another cluster"
UNKNOWN_NODE: Final = "it is a node that is not known here"
OTHER_TARGET: Final = "it looks for another node at this address"
OTHER_NODE: Final = "another node answers at its address"
OTHER_REPLICA: Final = "the cluster knows this node under another replica id"
OLDER_DIRECTORY: Final = "its directory is an older copy of itself: a later start of it is known"
OTHER_CERTIFICATE: Final = "its certificate is not that of the node that it says it is"
NO_PORT: Final = "it takes no connections of other nodes; run the same release on all of them"
NOT_FORMED: Final = "it has no cluster yet"
UNDELIVERABLE: Final = "a message for a shard that is not here"

_REFUSED: Final = "it refuses this node: "
#: Stands for the name of a shard in what a node says of itself.
_NODE: Final = "*"
_LANES: Final[tuple[Lane, ...]] = ("control", "bulk")


class IntroductionRefusedError(Exception):
    """A node did not answer an introduction, or refused it; the text says why.

    `reason` is the sentence of a permanent refusal, and empty if a retry may succeed.
    """

    def __init__(self, why: str, reason: str = "") -> None:
        super().__init__(why)
        self.reason: Final = reason


@dataclass(frozen=True, slots=True)
class _Route:
    """Both lanes to one node, and the tasks that run them."""

    address: str
    links: Mapping[Lane, Link]
    tasks: tuple["asyncio.Task[None]", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerHooks:
    """The calls of the network into its node, on the loop."""

    #: Takes a message for a shard, with whether it came alone; returns whether the shard is here.
    deliver: Callable[[str, Message, bool], bool]
    #: Called when entries sent to a node may be lost and new ones will arrive.
    remade: Callable[[str], None]
    #: Whether a peer with that configuration may be a member.
    admit: Callable[[Peer, int], bool]
    config_index: Callable[[], int]
    #: Returns the answer to an introduction.
    introduced: Callable[[Introduction], Introduction]
    #: Gets the heartbeats of other nodes.
    alive: Callable[[str, int], None] = lambda node, epoch: None
    #: Returns why nothing may be sent to a node, or None.
    judge: Callable[[Introduction], str | None] = lambda other: None
    #: Gets each node that knows the token, and whether it is of this cluster.
    met: Callable[[str, bool], None] = lambda node, ours: None
    #: Returns this start of the node.
    start: Callable[[], Start] = Start
    #: Whether no later start of another node is known.
    is_newest: Callable[[Peer, Start], bool] = lambda peer, start: True
    #: Gets a node that knows a later start of this one.
    outdated: Callable[[str], None] = lambda node: None
    #: Whether the hash of the token is still taken for a proof of it.
    takes_hash: Callable[[], bool] = lambda: True


class PeerNetwork:
    """Carries messages of all shards between this node and the others.

    With `tls` all connections are encrypted, and each end shows the certificate of its node.
    """

    def __init__(
        self,
        me: Peer,
        token: str,
        hooks: PeerHooks,
        *,
        rng: random.Random,
        limits: StreamLimits | None = None,
        tls: PeerTls | None = None,
    ) -> None:
        self._me: Final = me
        self._proofs: Final = TokenProofs(token, hooks.takes_hash)
        #: The challenge of the next connection to a node, or of the one that is made.
        self._challenges: Final[dict[tuple[str, Lane], bytes]] = {}
        self._cluster = b""
        self._hooks: Final = hooks
        self._rng: Final = rng
        self._limits: Final = limits or StreamLimits()
        self._tls: Final = tls
        self._addresses: dict[str, str] = {}
        self._routes: Final[dict[str, _Route]] = {}
        self._ending: Final[set[asyncio.Task[None]]] = set()
        self._refused: Final = Refused(self._addresses.__contains__)
        self._incoming: Final = Incoming(
            me, self._limits, answer=self._answer, deliver=self._take, refused=self._refused
        )
        self.received_messages = 0
        #: Messages for nodes without an address.
        self.dropped = 0

    @property
    def refused(self) -> Counter[tuple[str, str]]:
        """Refusals by node and reason."""
        return self._refused.counts

    @property
    def port(self) -> int:
        """The port for connections of other nodes; 0: none."""
        return self._incoming.port

    @property
    def links(self) -> Mapping[tuple[str, Lane], Link]:
        """The outgoing lanes with their counters, by node."""
        return {
            (node, each): link
            for node, route in self._routes.items()
            for each, link in route.links.items()
        }

    def _links_to(self, node: str) -> Collection[Link]:
        route = self._routes.get(node)
        return () if route is None else route.links.values()

    # Life.

    def add_to(self, server: Serves) -> None:
        """Serve introductions, from which other nodes learn this node's port."""
        server.add_bytes(f"/{SERVICE}/{INTRODUCE}", self._serve_introduction)
        server.add_bytes(f"/{SERVICE}/{CHALLENGE}", self._serve_challenge)

    async def listen(self, host: str, port: int = 0) -> None:
        """Accept connections of other nodes, by default at a free port; raises `OSError`."""
        await self._incoming.listen(host, port, None if self._tls is None else self._tls.incoming)

    def know(self, addresses: Mapping[str, str]) -> None:
        """Set the other nodes and their addresses."""
        self._addresses.clear()
        self._addresses.update(addresses)
        self._addresses.pop(self._me.node, None)
        self._reroute()

    @property
    def addresses(self) -> Mapping[str, str]:
        """The known nodes and their addresses."""
        return self._addresses

    def address(self, node: str) -> str | None:
        """Return the address of a node."""
        return self._addresses.get(node)

    def join(self, cluster: bytes) -> None:
        """Join a cluster and connect to its nodes."""
        self._cluster = cluster
        self._reroute()

    async def stop(self) -> None:
        """Close every connection."""
        self._addresses.clear()
        self._reroute()
        await self._incoming.stop()
        await asyncio.gather(*self._ending)

    @property
    def certificates(self) -> int:
        """How often the certificates were replaced."""
        return 0 if self._tls is None else self._tls.replaced()

    def open_channel(self, node: str, address: str, largest: int | None = 0) -> Channel:
        """Return a channel to a node, as `streams.open_channel` does."""
        tls = None if self._tls is None else self._tls.calls
        return open_channel(address, self._limits, largest, tls=tls, node=node)

    def reconnect(self) -> None:
        """Connect anew to every node, and judge it anew."""
        for node, route in list(self._routes.items()):
            del self._routes[node]
            for task in route.tasks:
                self._end(task)
        self._reroute()

    # Sending.

    def send(self, shard: str, messages: Sequence[Message]) -> None:
        """Enqueue messages, each on its lane; those that cannot be sent are dropped and counted."""
        for message in messages:
            route = self._routes.get(message.target.node)
            if route is None:
                self.dropped += 1
            else:
                route.links[lane(message.body)].put(shard, message)

    def beat(self, epoch: int) -> None:
        """Send a heartbeat of this node to every other one that is connected."""
        for route in self._routes.values():
            link = route.links["control"]
            if link.there is not None:
                link.put(_NODE, Message(self._me, link.there, 0, 0, Alive(epoch)))

    async def introduce(
        self, node: str, introduction: Introduction, address: str | None = None
    ) -> Introduction:
        """Introduce this node to another, and return the other's introduction.

        The address defaults to the known one. Raises `IntroductionRefusedError`.
        """
        return (await self._introduce(node, introduction, address or self._addresses[node]))[0]

    async def challenge(self, channel: Channel, timeout_s: float) -> bytes:
        """Return what calls on a connection prove the token over; empty: its node takes the hash.

        Raises `CallError`.
        """
        try:
            return await ask_challenge(channel, timeout_s)
        except CallError as error:
            if error.code() is Code.UNIMPLEMENTED:
                return b""
            raise

    async def _introduce(
        self, node: str, introduction: Introduction, address: str
    ) -> tuple[Introduction, int, bytes]:
        """Return the introduction of a node, its port for connections, and their challenge."""
        channel = self.open_channel(node, address)
        me, proofs = introduction.peer, self._proofs
        try:
            async with asyncio.timeout(self._limits.answer_s):
                asked = await self.challenge(channel, self._limits.answer_s)
            proof, own = proofs.make("introduction", asked, me), proofs.draw()
            content = encode_introduction(introduction, proof, self.port, own)
            answered = await ask(channel, content, self._limits.answer_s)
            answer, shown, port, challenge = decode_introduction(answered)
        except TimeoutError:
            raise IntroductionRefusedError(f"{node}: it does not answer") from None
        except CallError as error:
            why, reason = error.details() or "", ""
            if error.code() is Code.PERMISSION_DENIED:
                reason = _REFUSED + why
            elif fault := tls_fault(why):
                # What gRPC says of it is about sockets, and long.
                why = reason = fault
            raise IntroductionRefusedError(f"{node}: {why}", reason) from None
        except MalformedMessageError as error:
            raise IntroductionRefusedError(f"{node}: {error}", error.reason) from None
        finally:
            await channel.close(None)
        # An answer to a challenge also vouches for the one that it gives.
        over = own + challenge if challenge else b""
        if not proofs.proves(shown, "introduced", over, answer.peer):
            raise IntroductionRefusedError(f"{node}: {OTHER_TOKEN}", OTHER_TOKEN)
        if answer.peer.node != node:
            raise IntroductionRefusedError(f"{node}: {OTHER_NODE}, {answer.peer.node}", OTHER_NODE)
        return answer, port, challenge

    def _reroute(self) -> None:
        wanted = self._addresses if self._cluster else {}
        for node, route in list(self._routes.items()):
            if wanted.get(node) != route.address:
                del self._routes[node]
                for task in route.tasks:
                    self._end(task)
        for node, address in wanted.items():
            if node not in self._routes:
                self._routes[node] = self._route(node, address)

    def _route(self, node: str, address: str) -> _Route:
        links = {each: self._link(node, each, address) for each in _LANES}
        tasks = tuple(asyncio.create_task(link.run()) for link in links.values())
        return _Route(address, links, tasks)

    def _link(self, node: str, each: Lane, address: str) -> Link:
        def remade() -> None:
            if each == "bulk":
                self._hooks.remade(node)

        return Link(
            each,
            self._limits,
            locate=partial(self._locate, node, each, address),
            handshake=lambda: self._handshake(
                node, "connection", self._challenges.get((node, each), b"")
            ),
            judge=partial(self._judge_answer, node, each),
            refused=lambda reason: self._record_refusal(node, reason, f"{each} to {address}"),
            remade=remade,
            rng=self._rng,
            tls=None if self._tls is None else self._tls.outgoing,
            name=node,
        )

    async def _locate(self, node: str, each: Lane, address: str) -> tuple[str, int] | None:
        """Return the address for connections to a node, whose port may change with a restart."""
        try:
            other, port, challenge = await self._introduce(
                node, Introduction(self._me, (), b""), address
            )
            self._challenges[node, each] = challenge
        except IntroductionRefusedError as error:
            if error.reason:
                raise LinkRefusedError(error.reason) from None
            return None
        if not port:
            raise LinkRefusedError(NO_PORT)
        reason = self._hooks.judge(other)
        if reason is not None:
            raise LinkRefusedError(reason)
        return address.rpartition(":")[0].strip("[]"), port

    def _end(self, task: "asyncio.Task[None]") -> None:
        ending = asyncio.create_task(ended(task))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    # Identities.

    def handshake(self, target: str, challenge: bytes = b"") -> Handshake:
        """Return this node's handshake for calls of another, over the challenge of a connection."""
        return self._handshake(target, "call", challenge)

    def _handshake(self, target: str, purpose: Purpose, challenge: bytes) -> Handshake:
        proof = self._proofs.make(purpose, challenge, self._me, target)
        return Handshake(
            self._me, self._cluster, proof, self._hooks.config_index(), target, self._hooks.start()
        )

    def _answer(self, asker: Handshake, lane: Lane, address: str, shown: bytes | None) -> Answer:
        """Return the answer to a handshake, and to the certificate that its sender showed."""
        proofs, proof = self._proofs, asker.token_hash
        challenge = proofs.spend(asker.peer.node, asker.target, asker.peer, proof)
        proven = challenge is not None or proofs.is_hash(proof)
        reason = self._judge_certificate(asker.peer.node, shown) or self._judge_asker(asker, proven)
        mine = self._handshake("", "connected", challenge or b"")
        if reason is None:
            # It is up: this node's own connections to it need not wait for their next attempt.
            for link in self._links_to(asker.peer.node):
                link.heard()
            return Answer(mine, "")
        self._record_refusal(asker.peer.node, reason, f"{asker.peer} on {lane} from {address}")
        # Prove nothing to a stranger.
        return Answer(replace(mine, token_hash=b""), reason)

    def _judge_answer(self, node: str, each: Lane, answer: Answer) -> str | None:
        if answer.refusal == OLDER_DIRECTORY:
            self._hooks.outdated(node)
        if answer.refusal:
            return _REFUSED + answer.refusal
        if answer.handshake.peer.node != node:
            return OTHER_NODE
        other, challenge = answer.handshake, self._challenges.get((node, each), b"")
        proven = self._proofs.proves(other.token_hash, "connected", challenge, other.peer)
        return self._judge(other, proven)

    def judge_caller(
        self, asker: Handshake, context: Context, *, of_old: bool = False
    ) -> str | None:
        """Return why the caller that sends a handshake is refused, or None.

        With `of_old` a former member is not refused.
        """
        challenge = self._proofs.of_connection(context.peer())
        proven = self._proofs.proves(asker.token_hash, "call", challenge, asker.peer, asker.target)
        reason = self._judge_certificate(asker.peer.node, certificate(context))
        return reason or self._judge_asker(asker, proven, of_old=of_old)

    def _judge_asker(self, asker: Handshake, proven: bool, *, of_old: bool = False) -> str | None:
        if asker.target != self._me.node:
            return OTHER_TARGET
        return self._judge_cluster(asker, proven) if of_old else self._judge(asker, proven)

    def is_known(self, node: str) -> bool:
        """Return whether a node of this name is known here, this one included."""
        return node == self._me.node or node in self._addresses

    def is_certified(self, shown: bytes) -> bool:
        """Return whether a certificate is that of a node that is known here, and no client's.

        It alone does not make its bearer a node.
        """
        if self._tls is None:
            return False
        found = self._tls.certified(shown)
        return found.node and any(map(self.is_known, found.names))

    def is_weak(self, shown: bytes) -> bool:
        """Return whether the key of a certificate is too short to prove anything."""
        return self._tls is not None and self._tls.certified(shown).weak

    def _judge_certificate(self, node: str, shown: bytes | None) -> str | None:
        if shown is None or self._tls is None:
            return None
        found = self._tls.certified(shown)
        if node not in found.names:
            return OTHER_CERTIFICATE
        return None if found.node else CLIENT_CERTIFICATE

    def _judge_cluster(self, other: Handshake, proven: bool) -> str | None:
        if not proven:
            return OTHER_TOKEN
        if not self._cluster or not other.cluster:
            return NOT_FORMED
        ours = other.cluster == self._cluster
        self._hooks.met(other.peer.node, ours)
        return None if ours else OTHER_CLUSTER

    def _judge(self, other: Handshake, proven: bool) -> str | None:
        reason = self._judge_cluster(other, proven)
        if reason is not None:
            return reason
        if other.peer.node not in self._addresses:
            return UNKNOWN_NODE
        if not self._hooks.admit(other.peer, other.config_index):
            return OTHER_REPLICA
        return None if self._hooks.is_newest(other.peer, other.start) else OLDER_DIRECTORY

    def _record_refusal(self, node: str, reason: str, detail: str) -> None:
        # Of two nodes that start together one always joins first: not an error.
        if NOT_FORMED not in reason:
            self._refused.record(node, reason, detail)

    # Received messages.

    def _take(self, peer: Peer, messages: list[tuple[str, Message]]) -> None:
        self.received_messages += len(messages)
        alone = len(messages) == 1
        for shard, message in messages:
            if isinstance(message.body, Alive):
                self._hooks.alive(peer.node, message.body.epoch)
            elif not self._hooks.deliver(shard, message, alone):
                # Of the nodes that create a shard together one is always first.
                self._refused.record(peer.node, UNDELIVERABLE, shard, logging.INFO)

    async def _serve_introduction(self, content: bytes, context: Context) -> bytes:
        try:
            asker, shown, _, asked = decode_introduction(content)
        except MalformedMessageError as error:
            self._refused.record(context.peer(), error.reason, error.detail)
            await end_call(context, Code.INVALID_ARGUMENT, str(error))
            return b""
        reason = self._judge_certificate(asker.peer.node, certificate(context))
        proofs, over = self._proofs, self._proofs.of_connection(context.peer())
        if not proofs.proves(shown, "introduction", over, asker.peer):
            reason = OTHER_TOKEN
        if reason is not None:
            self._refused.record(asker.peer.node, reason, context.peer())
            await end_call(context, Code.PERMISSION_DENIED, reason)
            return b""
        try:
            answer = self._hooks.introduced(asker)
        except FormationRefusedError as error:
            await end_call(context, Code.FAILED_PRECONDITION, str(error))
            return b""
        # One that has asked nothing is of a release that knows no challenges.
        challenge = proofs.give(asker.peer.node) if asked else b""
        over = asked + challenge if asked else b""
        return encode_introduction(
            answer, proofs.make("introduced", over, answer.peer), self.port, challenge
        )

    async def _serve_challenge(self, _: bytes, context: Context) -> bytes:
        challenge = self._proofs.of_connection(context.peer())
        return PeerChallenge(challenge=challenge).SerializeToString()
