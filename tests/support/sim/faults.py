"""Chooses what goes wrong, and mends it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from typing import Final

from quorate.observe.failpoints import arm

from tests.support.sim import facts
from tests.support.sim.cluster import Cluster, Node
from tests.support.sim.disk import Disk
from tests.support.sim.hosted import Hosted
from tests.support.sim.loop import ProcessEndedError
from tests.support.sim.network import Pair
from tests.support.sim.operator import Operator

#: Where a process may die: the steps of a snapshot from its making to its installation, and those
#: of a split.
FAILPOINTS: Final = (
    "install.begun",
    "install.closed",
    "install.pointed",
    "install.removed",
    "install.swapped",
    "pointer.renamed",
    "pointer.written",
    "snapshot.checkpointed",
    "snapshot.durable",
    "snapshot.flushed",
    "snapshot.installed",
    "snapshot.offered",
    "snapshot.part_received",
    "snapshot.part_sent",
    "snapshot.received",
    "snapshot.sent",
    "snapshot.verified",
    "merge.added",
    "merge.copied",
    "merge.finished",
    "merge.finishing",
    "merge.freezing",
    "merge.frozen",
    "merge.half_frozen",
    "merge.settled",
    "merge.settling",
    "merge.united",
    "merge.uniting",
    "split.copied",
    "split.cut",
    "split.cutting",
    "split.finished",
    "split.finishing",
    "split.flushed",
    "split.forgetting",
    "split.forked",
)
#: How long a copy of a disk lies aside, and how long a leader may take to find that it is older.
_COPY_S: Final = (0.2, 1.5)
_FIND_S: Final = 2.0
_LOOK_S: Final = 0.02
#: An install is over in a moment, as a split is: their steps are worth more than a transfer's.
_SELDOM: Final = 10.0
_SHORT: Final = ("install.", "merge.", "pointer.", "split.")


class FaultInjector:
    """Draws faults from the seed until it is stopped; each ends by itself, or at `heal`."""

    def __init__(self, cluster: Cluster, operator: Operator) -> None:
        self._cluster: Final = cluster
        self._operator: Final = operator
        self._rng: Final = cluster.world.rng("faults")
        self._stopped = False
        #: How to end each fault that is on, by the order of its beginning.
        self._mend: Final[dict[int, Callable[[], None]]] = {}
        self._begun = 0
        #: A disk was copied, and the copy is not put back and found yet: nothing else goes wrong.
        self._copied = False
        faults = cluster.profile.faults
        self._acts: Final[dict[Callable[[], None], int]] = {
            self._crash: faults.crash,
            self._lose_power: faults.power_loss,
            self._lose_all_power: faults.cluster_power_loss,
            self._pause: faults.pause,
            self._partition: faults.partition,
            self._cut_one_way: faults.one_way,
            self._isolate_leader: faults.isolate_leader,
            self._part_with_minority: faults.minority,
            self._strand_leader: faults.strand_leader,
            self._break_streams: faults.stream_break,
            self._slow_way: faults.slow_way,
            self._slow_disk: faults.slow_disk,
            self._jump_clock: faults.clock_jump,
            self._change_clock_rate: faults.clock_rate,
            self._empty_disk: faults.empty_disk,
            self._copy_disk: faults.older_copy,
            operator.transfer: faults.transfer,
            operator.change: faults.membership,
            self._return_leader: faults.return_leader,
        }

    @contextmanager
    def started(self) -> Iterator[None]:
        """Begin, unless nothing is to go wrong; what is armed stays so inside the `with` block."""
        with ExitStack() as armed:
            if self._cluster.profile.faults.every_s != float("inf"):
                self._cluster.world.at(0.5, self._go_on)
                for name in FAILPOINTS:
                    chance = (
                        _SELDOM
                        if name.startswith(("install.", "merge.", "pointer.", "split."))
                        else 1.0
                    )
                    armed.enter_context(arm(name, partial(self._die_here, chance)))
            yield

    def heal(self) -> None:
        """Begin no more faults and end those that are on."""
        self._stopped = True
        for mend in list(self._mend.values()):
            mend()
        self._mend.clear()
        for node in self._cluster.nodes.values():
            node.start()
        self._cluster.network.quiet = True

    def _go_on(self) -> None:
        if self._stopped:
            return
        if not self._copied:
            act = self._rng.choices(list(self._acts), list(self._acts.values()))[0]
            self._cluster.counts["faults"] += 1
            self._cluster.world.note(f"fault {getattr(act, '__name__', '')}")
            act()
        every = self._cluster.profile.faults.every_s
        self._cluster.world.at(self._rng.expovariate(1 / every), self._go_on)

    def _until_mended(self, mend: Callable[[], None], longest_s: float) -> None:
        self._begun += 1
        number = self._begun
        self._mend[number] = mend
        # Most faults are short; some outlast any timeout.
        self._cluster.world.at(self._rng.random() ** 2 * longest_s, self._end, number)

    def _end(self, number: int) -> None:
        mend = self._mend.pop(number, None)
        if mend is not None:
            mend()

    def _any_node(self) -> Node:
        return self._cluster.nodes[self._rng.choice(sorted(self._cluster.nodes))]

    def _leading_node(self) -> Node:
        leader = self._cluster.leader(self._rng.choice(self._cluster.shards))
        return self._cluster.nodes[leader.replica.me.node] if leader else self._any_node()

    def _some_node(self) -> Node:
        return self._leading_node() if self._rng.random() < 0.4 else self._any_node()

    def _die_here(self, chance: float) -> None:
        """End, now and then, the process that comes to a failpoint."""
        process = self._cluster.running
        if self._stopped or process is None or process.has_ended():
            return
        if self._copied:
            return
        if self._rng.random() < chance * self._cluster.profile.faults.failpoint:
            node = self._cluster.nodes[process.disk.peer.node]
            self._cluster.counts["deaths at failpoints"] += 1
            (node.kill if self._rng.random() < 0.5 else node.lose_power)()
            self._until_mended(node.start, 1.0)
            raise ProcessEndedError

    def _crash(self) -> None:
        node = self._some_node()
        self._cluster.counts["crashes"] += 1
        node.kill()
        self._until_mended(node.start, 1.5)

    def _lose_power(self) -> None:
        node = self._some_node()
        self._cluster.counts["power losses"] += 1
        node.lose_power()
        self._until_mended(node.start, 1.5)

    def _lose_all_power(self) -> None:
        for node in self._cluster.nodes.values():
            self._cluster.counts["power losses"] += 1
            node.lose_power()
            self._until_mended(node.start, 0.3)

    def _pause(self) -> None:
        process = self._some_node().process
        if process is None or process.paused:
            return
        process.pause()
        self._until_mended(process.resume, 1.5)

    def _partition(self) -> None:
        names = sorted(self._cluster.nodes)
        self._rng.shuffle(names)
        split = self._rng.randint(1, len(names) - 1)
        self._part(names[:split], names[split:], 2.0)

    def _part_with_minority(self) -> None:
        leader = self._leading_node().name
        others = [name for name in sorted(self._cluster.nodes) if name != leader]
        self._rng.shuffle(others)
        company = (self._cluster.profile.nodes - 1) // 2 - 1
        self._part([leader, *others[:company]], others[company:], 1.5)

    def _part(self, one: list[str], other: list[str], longest_s: float) -> None:
        self._cut([pair for a in one for b in other for pair in ((a, b), (b, a))], longest_s)

    def _cut_one_way(self) -> None:
        a, b = self._rng.sample(sorted(self._cluster.nodes), 2)
        self._cut([(a, b)], 2.0)

    def _isolate_leader(self) -> None:
        away, back = self._ways(self._leading_node())
        self._cut(self._rng.choice((away, back, away + back)), 2.0)

    def _strand_leader(self) -> None:
        self._strand(self._leading_node())

    def _strand(self, node: Node) -> None:
        if self._stopped:
            return
        away, back = self._ways(node)
        self._cut(away + back, 3.0)
        self._run_clock(node, 0.1)

    def _ways(self, node: Node) -> tuple[list[Pair], list[Pair]]:
        others = [name for name in self._cluster.nodes if name != node.name]
        return [(node.name, other) for other in others], [(other, node.name) for other in others]

    def _return_leader(self) -> None:
        """Let a leader hand over, lead again, hear late words of its first time, and be alone."""
        world, shard = self._cluster.world, self._rng.choice(self._cluster.shards)
        leader = self._cluster.leader(shard)
        if leader is None or len(self._cluster.nodes) < 3:
            return
        here = leader.replica.me.node
        others = [name for name in sorted(self._cluster.nodes) if name != here]
        late, between = self._rng.sample(others, 2)
        away_s = self._rng.uniform(0.1, 0.3)
        self._until_mended(self._cluster.network.slow((late, here), 3 * away_s), 8 * away_s)
        world.at(away_s, self._operator.transfer_to, shard, between)
        world.at(2 * away_s, self._operator.transfer_to, shard, here)
        world.at(4 * away_s, self._strand, self._cluster.nodes[here])

    def _slow_way(self) -> None:
        a, b = self._rng.sample(sorted(self._cluster.nodes), 2)
        delay_s = self._rng.choice(self._cluster.profile.faults.slow_way_s)
        self._until_mended(self._cluster.network.slow((a, b), delay_s), 2.0)

    def _cut(self, pairs: list[Pair], longest_s: float) -> None:
        self._until_mended(self._cluster.network.cut(pairs), longest_s)

    def _break_streams(self) -> None:
        name = self._some_node().name
        pairs = [
            pair
            for other in self._cluster.nodes
            if other != name
            for pair in ((name, other), (other, name))
            if self._rng.random() < 0.5
        ]
        self._cluster.network.break_streams(pairs)

    def _slow_disk(self) -> None:
        process = self._some_node().process
        if process is None:
            return
        usual = self._cluster.profile.sync_s
        process.sync_s = (0.02, 0.4)

        def mend() -> None:
            process.sync_s = usual

        self._until_mended(mend, 2.0)

    def _jump_clock(self) -> None:
        node = self._some_node()
        node.clock.set(rate=node.clock.rate, ahead_s=self._rng.uniform(0.05, 2.0))
        if node.process is not None:
            node.process.clock_changed()

    def _change_clock_rate(self) -> None:
        self._run_clock(self._some_node(), self._rng.choice((0.1, 0.5, 3.0)))

    def _run_clock(self, node: Node, rate: float) -> None:
        node.clock.set(rate=rate)

        def mend() -> None:
            node.clock.set()
            if node.process is not None:
                node.process.clock_changed()

        if node.process is not None:
            node.process.clock_changed()
        self._until_mended(mend, 3.0)

    def _empty_disk(self) -> None:
        """Only once the last lost disk was replaced: nothing survives the loss of a majority."""
        if not self._cluster.formed or not self._operator.all_replaced:
            return
        node = self._some_node()
        self._cluster.counts["emptied disks"] += 1
        node.empty()
        self._until_mended(node.start, 0.5)

    # An older copy: what a replica has forgotten then, others know as long as they live.

    def _copy_disk(self) -> None:
        """Copy the disk of a follower of a cluster that is well."""
        if self._mend or not self._cluster.formed or not self._operator.all_replaced:
            return
        leading = {leader.replica.me.node for leader in self._leaders().values()}
        followers = [name for name in self._cluster.initial_members if name not in leading]
        if not followers:
            return
        node = self._cluster.nodes[self._rng.choice(followers)]
        node.kill()
        copy = deepcopy(node.disk)
        copy.is_older = True
        node.start()
        self._copied = True
        self._cluster.world.at(self._rng.uniform(*_COPY_S), self._put_back, node, copy)

    def _put_back(self, node: Node, copy: Disk) -> None:
        leaders = self._leaders()
        leading = {leader.replica.me.node for leader in leaders.values()}
        if self._stopped or len(leaders) < len(self._cluster.shards) or node.name in leading:
            self._copied = False
            return
        node.kill()
        terms = {shard: leader.term for shard, leader in leaders.items()}
        self._cluster.world.at(_LOOK_S, self._bring_back, node, copy, terms)

    def _bring_back(self, node: Node, copy: Disk, terms: dict[str, int]) -> None:
        """Start it with the copy, once what it acknowledged last is committed without it."""
        leaders = self._leaders()
        known = {
            shard: next((f.match for f in status.followers if f.peer == copy.peer), 0)
            for shard, leader in leaders.items()
            if leader.replica.commit >= (status := leader.replica.status()).last
        }
        if self._stopped or {shard: leader.term for shard, leader in leaders.items()} != terms:
            self._copied = False
            node.start()
            return
        if known.keys() != terms.keys():
            self._cluster.world.at(_LOOK_S / 4, self._bring_back, node, copy, terms)
            return
        node.disk = copy
        node.start()
        self._cluster.counts["older copies"] += 1
        assert node.process is not None
        # A shard that is younger than the copy is not there at all.
        hosted = node.process.hosted
        ends = {shard: hosted[shard].replica.log.last.index for shard in known if shard in hosted}
        lost = [
            facts.Forgotten(shard, copy.peer, match, ends.get(shard, 0))
            for shard, match in known.items()
            if ends.get(shard, 0) < match
        ]
        self._find(node, terms, lost, self._cluster.world.now + _FIND_S)

    def _find(
        self,
        node: Node,
        terms: dict[str, int],
        lost: list[facts.Forgotten],
        until: float,
    ) -> None:
        """Begin anew once it was found, by its leader or, where that is no more, by its start.

        That others know a later start of a node is a matter of their connections, which are none
        of this simulation.
        """
        found = node.process is not None and node.process.gives_up
        led = {shard: leader.term for shard, leader in self._leaders().items()}
        if lost and not found and led == terms and not self._stopped:
            if self._cluster.world.now < until:
                self._cluster.world.at(_LOOK_S, self._find, node, terms, lost, until)
                return
            self._cluster.tell(lost[0])
        self._cluster.counts["older copies found"] += found
        if lost:
            node.empty()
            node.start()
        self._copied = node.disk.is_older = False

    def _leaders(self) -> dict[str, Hosted]:
        found = {shard: self._cluster.leader(shard) for shard in self._cluster.shards}
        return {shard: leader for shard, leader in found.items() if leader is not None}
