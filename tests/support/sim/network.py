"""The network between nodes: two lanes for each ordered pair, and what goes wrong on them."""

from collections.abc import Callable
from typing import Final, NamedTuple

from quorate.consensus.formation import Introduction
from quorate.consensus.messages import Message, lane

from tests.support.sim.profile import Profile
from tests.support.sim.world import World

Pair = tuple[str, str]


class Packet(NamedTuple):
    """What travels: a replica's message for a shard, or what a node says of itself."""

    shard: str
    content: Message | Introduction


class _Stream:
    """One lane from a node to another: in order, until it breaks."""

    __slots__ = ("broken", "epoch", "last_arrival")

    def __init__(self) -> None:
        self.epoch = 0
        self.broken = False
        self.last_arrival = 0.0


class Network:
    """Delivers parcels. A bulk stream that breaks loses all that is on it, and is made anew.

    The control lane may besides drop, repeat and reorder, which real streams never do worse.
    """

    def __init__(
        self,
        world: World,
        profile: Profile,
        nodes: tuple[str, ...],
        deliver: Callable[[str, Packet], None],
        remade: Callable[[str, str, Callable[[], None]], None],
    ) -> None:
        self._world: Final = world
        self._profile: Final = profile
        self._deliver: Final = deliver
        self._remade: Final = remade
        self._rng: Final = world.rng("network")
        pairs = [(a, b) for a in nodes for b in nodes if a != b]
        self.nodes: Final = nodes
        self._bulk: Final = {pair: _Stream() for pair in pairs}
        self._control: Final = {pair: _Stream() for pair in pairs}
        #: How many faults cut each pair right now.
        self._cuts: Final = dict.fromkeys(pairs, 0)
        #: How much longer a way takes than usual.
        self._slow: Final = dict.fromkeys(pairs, 0.0)
        self.quiet = False
        self.sent = 0

    def send(self, source: str, target: str, packet: Packet) -> None:
        """Put a packet on its way."""
        pair = (source, target)
        if pair not in self._bulk:
            return
        self.sent += 1
        content = packet.content
        if isinstance(content, Message) and lane(content.body) == "bulk":
            self._send_bulk(pair, packet)
        else:
            self._send_control(pair, packet)

    def cut(self, pairs: list[Pair]) -> Callable[[], None]:
        """Cut the way from a node to another, for each pair; call what is returned to mend it."""
        for pair in pairs:
            self._cuts[pair] += 1

        def mend() -> None:
            for pair in pairs:
                self._cuts[pair] -= 1

        return mend

    def slow(self, pair: Pair, delay_s: float) -> Callable[[], None]:
        """Let everything from a node to another take longer; call what is returned to mend it."""
        self._slow[pair] += delay_s

        def mend() -> None:
            self._slow[pair] -= delay_s

        return mend

    def is_cut(self, source: str, target: str) -> bool:
        """Return whether nothing gets from a node to another."""
        return self._cuts[source, target] > 0

    @property
    def last_arrival(self) -> float:
        """When the last of the messages arrives that keep their order and are on their way."""
        return max(
            each.last_arrival for way in (self._bulk, self._control) for each in way.values()
        )

    def break_streams(self, pairs: list[Pair]) -> None:
        """Break the bulk streams of pairs: what is on them is lost."""
        for pair in pairs:
            self._break(pair)

    def process_ended(self, node: str) -> None:
        """Break every stream from and to a node whose process ended."""
        for other in self.nodes:
            if other != node:
                self._break((node, other))
                self._break((other, node))

    def _send_bulk(self, pair: Pair, packet: Packet) -> None:
        stream = self._bulk[pair]
        if stream.broken:
            return
        arrival = max(stream.last_arrival, self._world.now + self._draw_delay(pair))
        stream.last_arrival = arrival
        self._world.at(arrival - self._world.now, self._arrive_bulk, pair, stream.epoch, packet)

    def _arrive_bulk(self, pair: Pair, epoch: int, packet: Packet) -> None:
        if self._bulk[pair].epoch != epoch:
            return
        if self._cuts[pair]:
            self._break(pair)
            return
        self._deliver(pair[1], packet)

    def _break(self, pair: Pair) -> None:
        stream = self._bulk[pair]
        stream.epoch += 1
        if not stream.broken:
            stream.broken = True
            self._world.at(self._rng.uniform(0.005, 0.1), self._reconnect, pair)

    def _reconnect(self, pair: Pair) -> None:
        stream = self._bulk[pair]

        def opened() -> None:
            stream.broken = False
            stream.last_arrival = self._world.now

        if stream.broken:
            # The process that is to open it may end before it gets to that: look again.
            self._world.at(self._rng.uniform(0.02, 0.1), self._reconnect, pair)
            if not self._cuts[pair]:
                self._remade(*pair, opened)

    def _send_control(self, pair: Pair, packet: Packet) -> None:
        faults, rng = self._profile.faults, self._rng
        if self._cuts[pair]:
            return
        copies = 1
        if not self.quiet:
            if rng.random() < faults.drop:
                return
            copies += rng.random() < faults.duplicate
        stream = self._control[pair]
        for _ in range(copies):
            delay = self._draw_delay(pair)
            if self.quiet or rng.random() >= faults.reorder:
                arrival = max(stream.last_arrival, self._world.now + delay)
                stream.last_arrival = arrival
            else:
                arrival = self._world.now + delay * rng.choice((0.1, 5, 30, 100))
            self._world.at(arrival - self._world.now, self._arrive_control, pair, packet)

    def _arrive_control(self, pair: Pair, packet: Packet) -> None:
        if not self._cuts[pair]:
            self._deliver(pair[1], packet)

    def _draw_delay(self, pair: Pair) -> float:
        low, high = self._profile.delay_s
        return self._slow[pair] + low + (high - low) * self._rng.random()
