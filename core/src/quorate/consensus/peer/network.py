"""This node among its peers: connections to every other node, and those that they make."""

import asyncio
import hashlib
import hmac
import logging
import random
import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import grpc
import grpc.aio

from quorate.consensus.formation import FormationRefusedError, Introduction
from quorate.consensus.messages import Lane, Message, Peer, lane
from quorate.consensus.peer.incoming import Incoming
from quorate.consensus.peer.link import Link, LinkRefusedError, ended
from quorate.consensus.peer.refused import Refused
from quorate.consensus.peer.streams import (
    Context,
    StreamLimits,
    add_service,
    ask,
    open_channel,
)
from quorate.consensus.peer.wire import (
    Answer,
    Handshake,
    MalformedMessageError,
    decode_introduction,
    encode_introduction,
)

OTHER_TOKEN: Final = "its [cluster] token is another one"
OTHER_CLUSTER: Final = "it belongs to another cluster"
UNKNOWN_NODE: Final = "it is a node that is not known here"
OTHER_TARGET: Final = "it looks for another node at this address"
OTHER_NODE: Final = "another node answers at its address"
OTHER_REPLICA: Final = "the cluster knows this node under another replica id"
NO_PORT: Final = "it takes no connections of other nodes; run the same release on all of them"
NOT_FORMED: Final = "it has no cluster yet"
UNDELIVERABLE: Final = "a message for a shard that is not here"

_REFUSED: Final = "it refuses this node: "
_LANES: Final[tuple[Lane, ...]] = ("control", "bulk")


class IntroductionRefusedError(Exception):
    """A node did not answer an introduction, or refused it; the text says why.

    `reason` is the sentence for a refusal that holds, and empty for what may pass.
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


class PeerNetwork:
    """Carries messages of all shards between this node and the others.

    `deliver(shard, message)` takes what comes, on the loop, and returns whether the shard is here.
    `remade(node)` is told that entries sent to a node may be lost, and that new ones will arrive.
    `admit(peer, config_index)` says whether a peer that acts under that membership may be a member.
    `introduced(introduction)` answers an introduction with the own one.

    `server_tls` and `client_tls` are for the connections that others make, and for the own ones.
    """

    def __init__(
        self,
        me: Peer,
        token: str,
        *,
        deliver: Callable[[str, Message], bool],
        remade: Callable[[str], None],
        admit: Callable[[Peer, int], bool],
        config_index: Callable[[], int],
        introduced: Callable[[Introduction], Introduction],
        rng: random.Random,
        limits: StreamLimits | None = None,
        server_tls: ssl.SSLContext | None = None,
        client_tls: ssl.SSLContext | None = None,
    ) -> None:
        self._me: Final = me
        self._token_hash: Final = token_hash(token)
        self._cluster = b""
        self._deliver: Final = deliver
        self._remade: Final = remade
        self._admit: Final = admit
        self._config_index: Final = config_index
        self._introduced: Final = introduced
        self._rng: Final = rng
        self._limits: Final = limits or StreamLimits()
        self._server_tls: Final = server_tls
        self._client_tls: Final = client_tls
        self._addresses: dict[str, str] = {}
        self._routes: Final[dict[str, _Route]] = {}
        self._ending: Final[set[asyncio.Task[None]]] = set()
        self._refused: Final = Refused(self._addresses.__contains__)
        self._incoming: Final = Incoming(
            me,
            self._limits,
            answer=self._answer,
            deliver=self._take,
            refused=self._refused,
        )
        self.received_messages = 0
        #: Messages for nodes without an address.
        self.dropped = 0

    @property
    def refused(self) -> Counter[tuple[str, str]]:
        """What was refused, by node and reason."""
        return self._refused.counts

    @property
    def port(self) -> int:
        """Where the connections of other nodes are taken; 0: nowhere."""
        return self._incoming.port

    @property
    def links(self) -> Mapping[tuple[str, Lane], Link]:
        """The outgoing lanes with their counters, by node."""
        return {
            (node, each): link
            for node, route in self._routes.items()
            for each, link in route.links.items()
        }

    # Life.

    def add_to_server(self, server: grpc.aio.Server) -> None:
        """Answer the introductions of others: they learn there where their connections go."""
        add_service(server, self._serve_introduction)

    async def listen(self, host: str, port: int = 0) -> None:
        """Take the connections of others, at any free port if none is named; raises `OSError`."""
        await self._incoming.listen(host, port, self._server_tls)

    def know(self, addresses: Mapping[str, str]) -> None:
        """Talk to these nodes, at these addresses, and to no others."""
        self._addresses.clear()
        self._addresses.update(addresses)
        self._addresses.pop(self._me.node, None)
        self._reroute()

    @property
    def addresses(self) -> Mapping[str, str]:
        """The other nodes that are known, and where each is found."""
        return self._addresses

    def address(self, node: str) -> str | None:
        """Return where a node is found."""
        return self._addresses.get(node)

    def join(self, cluster: bytes) -> None:
        """Be part of a cluster from now on: the connections are made."""
        self._cluster = cluster
        self._reroute()

    async def stop(self) -> None:
        """End every connection."""
        self._addresses.clear()
        self._reroute()
        await self._incoming.stop()
        await asyncio.gather(*self._ending)

    # Sending.

    def send(self, shard: str, messages: Sequence[Message]) -> None:
        """Queue messages, each on its lane; what cannot go is dropped and counted."""
        for message in messages:
            route = self._routes.get(message.target.node)
            if route is None:
                self.dropped += 1
            else:
                route.links[lane(message.body)].put(shard, message)

    async def introduce(
        self, node: str, introduction: Introduction, address: str | None = None
    ) -> Introduction:
        """Say who this node is, and return what the other says of itself.

        Without an address it is asked where it is known to be. Raises `IntroductionRefusedError`.
        """
        return (await self._introduce(node, introduction, address or self._addresses[node]))[0]

    async def _introduce(
        self, node: str, introduction: Introduction, address: str
    ) -> tuple[Introduction, int]:
        """Return what a node says of itself, and the port at which it takes connections."""
        channel = open_channel(address, self._limits)
        try:
            content = encode_introduction(introduction, self._token_hash, self.port)
            answered = await ask(channel, content, self._limits.answer_s)
            answer, shown, port = decode_introduction(answered)
        except grpc.aio.AioRpcError as error:
            why = error.details() or ""
            holds = error.code() is grpc.StatusCode.PERMISSION_DENIED
            reason = _REFUSED + why if holds else ""
            raise IntroductionRefusedError(f"{node}: {why}", reason) from None
        except MalformedMessageError as error:
            raise IntroductionRefusedError(f"{node}: {error}", error.reason) from None
        finally:
            await channel.close(None)
        if not hmac.compare_digest(shown, self._token_hash):
            raise IntroductionRefusedError(f"{node}: {OTHER_TOKEN}", OTHER_TOKEN)
        if answer.peer.node != node:
            raise IntroductionRefusedError(f"{node}: {OTHER_NODE}, {answer.peer.node}", OTHER_NODE)
        return answer, port

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
                self._remade(node)

        return Link(
            each,
            self._limits,
            locate=partial(self._locate, node, address),
            handshake=lambda: self.handshake(node),
            judge=partial(self._judge_answer, node),
            refused=lambda reason: self._note_refusal(node, reason, f"{each} to {address}"),
            remade=remade,
            rng=self._rng,
            tls=self._client_tls,
        )

    async def _locate(self, node: str, address: str) -> tuple[str, int] | None:
        """Ask a node where it takes connections: its port may be another one since it restarted."""
        try:
            _, port = await self._introduce(node, Introduction(self._me, (), b""), address)
        except IntroductionRefusedError as error:
            if error.reason:
                raise LinkRefusedError(error.reason) from None
            return None
        if not port:
            raise LinkRefusedError(NO_PORT)
        return address.rpartition(":")[0].strip("[]"), port

    def _end(self, task: "asyncio.Task[None]") -> None:
        ending = asyncio.create_task(ended(task))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    # Who is who.

    def handshake(self, target: str) -> Handshake:
        """Return what this node says of itself to another."""
        return Handshake(self._me, self._cluster, self._token_hash, self._config_index(), target)

    def _answer(self, asker: Handshake, lane: Lane, address: str) -> Answer:
        """Return the answer to who makes a connection."""
        reason = self.judge_asker(asker)
        mine = self.handshake("")
        if reason is None:
            return Answer(mine, "")
        self._note_refusal(asker.peer.node, reason, f"{asker.peer} on {lane} from {address}")
        # A stranger does not learn from it what the token is.
        return Answer(replace(mine, token_hash=b""), reason)

    def _judge_answer(self, node: str, answer: Answer) -> str | None:
        if answer.refusal:
            return _REFUSED + answer.refusal
        if answer.handshake.peer.node != node:
            return OTHER_NODE
        return self._judge(answer.handshake)

    def judge_asker(self, asker: Handshake, *, of_old: bool = False) -> str | None:
        """Return why whoever shows this is refused, or None.

        With `of_old` it need not be a member any more.
        """
        if asker.target != self._me.node:
            return OTHER_TARGET
        return self._judge_cluster(asker) if of_old else self._judge(asker)

    def _judge_cluster(self, other: Handshake) -> str | None:
        if not hmac.compare_digest(other.token_hash, self._token_hash):
            return OTHER_TOKEN
        if not self._cluster or not other.cluster:
            return NOT_FORMED
        if other.cluster != self._cluster:
            return OTHER_CLUSTER
        return None

    def _judge(self, other: Handshake) -> str | None:
        reason = self._judge_cluster(other)
        if reason is not None:
            return reason
        if other.peer.node not in self._addresses:
            return UNKNOWN_NODE
        if not self._admit(other.peer, other.config_index):
            return OTHER_REPLICA
        return None

    def _note_refusal(self, node: str, reason: str, detail: str) -> None:
        # One of two that start together is always the first to have a cluster: no fault.
        if NOT_FORMED not in reason:
            self._refused.note(node, reason, detail)

    # What comes.

    def _take(self, peer: Peer, messages: list[tuple[str, Message]]) -> None:
        self.received_messages += len(messages)
        for shard, message in messages:
            if not self._deliver(shard, message):
                # Of those that create a shard together one is always the first.
                self._refused.note(peer.node, UNDELIVERABLE, shard, logging.INFO)

    async def _serve_introduction(self, content: bytes, context: Context[bytes, bytes]) -> bytes:
        try:
            asker, shown, _ = decode_introduction(content)
        except MalformedMessageError as error:
            self._refused.note(context.peer(), error.reason, error.detail)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if not hmac.compare_digest(shown, self._token_hash):
            self._refused.note(asker.peer.node, OTHER_TOKEN, context.peer())
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, OTHER_TOKEN)
        try:
            answer = self._introduced(asker)
        except FormationRefusedError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return encode_introduction(answer, self._token_hash, self.port)


def token_hash(token: str) -> bytes:
    """Return what nodes show each other of the token that they share."""
    return hashlib.sha256(b"quorate token\x00" + token.encode()).digest()
