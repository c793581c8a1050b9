"""Plans the placement of replicas: a pure function of the current one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from quorate.plugin.shard_id import ShardId

#: Nodes of a zone that are tried as targets of a replica that moves for balance alone.
_TRIED: Final = 2
#: A node with this many times the mean load gives some of it away, if there is enough to measure.
_HOT: Final = 1.5
_LEAST_LOAD_PER_S: Final = 100.0
#: The most moves for the sake of load in a plan: loads change, and are measured again.
_LOAD_MOVES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node as a place for replicas."""

    node: str
    #: No two replicas of a shard are on the same machine.
    machine: str
    zone: str = ""
    #: Whether it may get replicas.
    takes: bool = True
    #: Whether all its replicas have to go.
    leaves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The replicas of a shard; of a moving shard, the replicas after the move."""

    shard: ShardId
    nodes: tuple[str, ...]
    wanted: int
    #: Commands and reads per second.
    load: float = 0.0
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A replica goes from one node to another; None if one is only added, or only removed."""

    shard: ShardId
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The moves in the order of their urgency, and a sentence for each unsolved problem."""

    moves: Sequence[Move] = ()
    problems: Sequence[str] = ()


def plan(sites: Iterable[Site], shards: Iterable[Placed]) -> Plan:
    """Return the moves after which every shard is where it should be.

    A shard has one replica on a machine; its replicas are in as many zones as there are, as evenly
    as they can be; and nodes have as many replicas as others, within one, as far as zones allow
    that. A shard moves at most once in a plan, and with as few moves as possible in all.
    """
    board = _Board(sites, shards)
    for shard in board.shards:
        if not shard.moving and len(_staying(board, shard)) < shard.wanted:
            board.add_missing(shard)
    for shard in board.shards:
        if not shard.moving and shard.shard not in board.moved:
            board.correct(shard)
    board.even_counts()
    board.even_loads()
    return Plan(board.moves, board.problems())


def founders(
    sites: Iterable[Site], shards: Iterable[tuple[ShardId, int]], existing: Iterable[Placed] = ()
) -> list[list[str]]:
    """Return the nodes that each of these new shards begins on, with as many as it should have.

    There are fewer where no more machines take a replica.
    """
    board, found = _Board(sites, existing), list[list[str]]()
    for shard, wanted in shards:
        nodes: list[str] = []
        placed = Placed(shard=shard, nodes=(), wanted=wanted)
        while len(nodes) < wanted and (node := board.pick(nodes)) is not None:
            board.move(placed, None, node)
            nodes.append(node)
        found.append(nodes)
    return found


def misplaced(sites: Mapping[str, Site], nodes: Sequence[str], target: str) -> str | None:
    """Return why a shard with replicas on these nodes must not get one on another, or None."""
    site = sites.get(target)
    if site is None:
        return f"{target} is no node of this cluster; `quorate node list` shows them"
    if target in nodes:
        return f"{target} has a replica of it already"
    for node in nodes:
        if node in sites and sites[node].machine == site.machine:
            return f"{target} and {node} run on the same machine, {site.machine}"
    if not site.takes:
        return f"{target} is drained, or does not answer"
    staying = [node for node in nodes if node in sites]
    used = Counter(sites[node].zone for node in staying)
    best = _Board(sites.values(), ()).pick(staying)
    if best is not None and used[sites[best].zone] < used[site.zone]:
        zone = sites[best].zone
        return (
            f"zone {site.zone or 'without a name'} has {used[site.zone]} of its other replicas, and"
            f" zone {zone or 'without a name'} {used[zone]}: take {best}"
        )
    return None


def _staying(board: _Board, shard: Placed) -> list[str]:
    """Return the nodes whose replicas of a shard count: on machines of their own, and staying."""
    machines: dict[str, str] = {}
    for node in shard.nodes:
        site = board.sites.get(node)
        if site is not None and not site.leaves:
            machines.setdefault(site.machine, node)
    return list(machines.values())


class _Board:
    """The replicas of all nodes while a plan is made."""

    def __init__(self, sites: Iterable[Site], shards: Iterable[Placed]) -> None:
        self.sites: Final = {site.node: site for site in sites}
        self.shards: Final = list(shards)
        self.moves: Final[list[Move]] = []
        self.moved: Final[set[ShardId]] = set()
        self._counts: Final[dict[str, int]] = dict.fromkeys(self.sites, 0)
        self._loads: Final[dict[str, float]] = dict.fromkeys(self.sites, 0.0)
        self._held: Final[dict[str, dict[ShardId, Placed]]] = defaultdict(dict)
        #: The shards of each group that have no place for one more replica.
        self._homeless: Final = Counter[tuple[str, int]]()
        self._stuck: Final = Counter[str]()
        for shard in self.shards:
            for node in shard.nodes:
                if node in self._counts:
                    self._counts[node] += 1
                    self._loads[node] += shard.load
                    self._held[node][shard.shard] = shard
        #: The nodes of each zone that take replicas, as heaps by their entries; old ones stay.
        self._zones: Final[dict[str, list[tuple[int, float, str]]]] = defaultdict(list)
        for site in self.sites.values():
            if site.takes:
                self._zones[site.zone].append(self._entry(site.node))
        for heap in self._zones.values():
            heapify(heap)

    # What a shard needs.

    def add_missing(self, shard: Placed) -> None:
        """Add a missing replica to a shard, in place of a replica that has to go, if any."""
        staying = _staying(self, shard)
        target = self.pick(staying)
        if target is None:
            leaving = [node for node in shard.nodes if node not in staying]
            self._homeless[shard.shard.group, shard.wanted] += 1
            self._stuck.update(leaving)
            return
        leaving = [node for node in shard.nodes if node not in staying]
        # One that is gone has less to lose than one that is drained.
        leaving.sort(key=lambda node: (node in self.sites, node))
        self.move(shard, leaving[0] if leaving else None, target)

    def correct(self, shard: Placed) -> None:
        """Remove a replica too many, or move one out of a zone that has too many."""
        staying = _staying(self, shard)
        if len(shard.nodes) > shard.wanted and len(staying) >= shard.wanted:
            self.move(shard, self._surplus(shard, staying), None)
            return
        used = self._used(staying)
        if not used or len(self._zones) < 2:
            return
        fullest = max(used, key=lambda zone: (used[zone], zone))
        if used[fullest] - min(used[zone] for zone in self._zones) < 2:
            return
        source = max(
            (node for node in staying if self.sites[node].zone == fullest), key=self._entry
        )
        rest = [node for node in staying if node != source]
        target = self.pick(rest)
        if target is not None and used[self.sites[target].zone] + 1 < used[fullest]:
            self.move(shard, source, target)

    # Evenness.

    def even_counts(self) -> None:
        """Move replicas from nodes with more of them to nodes with fewer, by at least two."""
        donors = [(-count, node) for node, count in self._counts.items() if self.sites[node].takes]
        heapify(donors)
        while donors:
            count, donor = heappop(donors)
            if -count != self._counts[donor]:
                heappush(donors, (-self._counts[donor], donor))
                continue
            if self._give_one(donor):
                heappush(donors, (-self._counts[donor], donor))

    def even_loads(self) -> None:
        """Move a busy shard from the busiest node to one with fewer replicas, or exchange two."""
        takers = [node for node, site in self.sites.items() if site.takes]
        total = sum(self._loads[node] for node in takers)
        if len(takers) < 2 or total < _LEAST_LOAD_PER_S:
            return
        mean = total / len(takers)
        for _ in range(_LOAD_MOVES):
            donor = max(takers, key=lambda node: (self._loads[node], node))
            if self._loads[donor] < _HOT * mean or not self._relieve(donor, takers, mean):
                return

    def problems(self) -> list[str]:
        """Describe the problems that the plan leaves, and their remedies."""
        machines = len({site.machine for site in self.sites.values() if site.takes})
        found = [
            f"{shards} shard{'s' if shards > 1 else ''} of group {group} cannot have"
            f" {wanted} replicas: {machines} machines take any; add a node on another machine,"
            f" start those that do not answer, undrain one, or lower [groups.{group}] replicas"
            for (group, wanted), shards in sorted(self._homeless.items())
        ]
        return found + [
            f"{node} cannot give away {count} of its replicas: no other node takes them"
            for node, count in sorted(self._stuck.items())
            if node in self.sites
        ]

    # Where replicas go.

    def _entry(self, node: str) -> tuple[int, float, str]:
        return self._counts[node], self._loads[node], node

    def _used(self, nodes: Iterable[str]) -> Counter[str]:
        return Counter(self.sites[node].zone for node in nodes if node in self.sites)

    def move(self, shard: Placed, source: str | None, target: str | None) -> None:
        self.moves.append(Move(shard.shard, source, target))
        self.moved.add(shard.shard)
        for node, sign in ((source, -1), (target, 1)):
            if node is None or node not in self.sites:
                continue
            self._counts[node] += sign
            self._loads[node] += sign * shard.load
            if sign > 0:
                self._held[node][shard.shard] = shard
            else:
                del self._held[node][shard.shard]
            site = self.sites[node]
            if site.takes:
                heappush(self._zones[site.zone], self._entry(node))

    def _surplus(self, shard: Placed, staying: Sequence[str]) -> str:
        used = self._used(staying)

        def excess(node: str) -> tuple[bool, int, int, str]:
            site = self.sites.get(node)
            if site is None or node not in staying:
                return True, 0, 0, node
            return False, used[site.zone], self._counts[node], node

        return max(shard.nodes, key=excess)

    def _emptiest(self, zone: str) -> Iterator[str]:
        """Yield the nodes of a zone that take replicas, those with the fewest first."""
        heap, seen = self._zones[zone], list[tuple[int, float, str]]()
        known = set[str]()
        try:
            while heap:
                entry = heappop(heap)
                node = entry[2]
                if node in known or entry != self._entry(node):
                    continue
                known.add(node)
                seen.append(entry)
                yield node
        finally:
            for entry in seen:
                heappush(heap, entry)

    def pick(self, staying: Sequence[str]) -> str | None:
        """Return the best node for one more replica, if any takes it."""
        machines = {self.sites[node].machine for node in staying}
        used = self._used(staying)
        best: tuple[tuple[int, int, float, str], str] | None = None
        for zone in self._zones:
            if best is not None and used[zone] > best[0][0]:
                continue
            for node in self._emptiest(zone):
                if node not in staying and self.sites[node].machine not in machines:
                    key = (used[zone], *self._entry(node))
                    best = min(best, (key, node)) if best else (key, node)
                    break
        return best[1] if best else None

    def _give_one(self, donor: str) -> bool:
        """Move one replica of a node to one with at least two fewer; False: none can."""
        zones = sorted(self._zones, key=lambda zone: zone != self.sites[donor].zone)
        targets: list[str] = []
        for zone in zones:
            emptiest = self._emptiest(zone)
            for _, node in zip(range(_TRIED), emptiest, strict=False):
                if self._counts[node] <= self._counts[donor] - 2:
                    targets.append(node)
            emptiest.close()  # type: ignore[attr-defined]
        for target in sorted(targets, key=self._entry):
            excess = (self._loads[donor] - self._loads[target]) / 2
            fitting = (
                each for each in self._held[donor].values() if self._fits(each, donor, target)
            )
            found = min(
                fitting, key=lambda each: (abs(each.load - excess), each.shard), default=None
            )
            if found is not None:
                self.move(found, donor, target)
                return True
        return False

    def _fits(self, shard: Placed, source: str, target: str) -> bool:
        """Whether a replica may move without that machines are shared or zones less even."""
        if shard.moving or shard.shard in self.moved or target in shard.nodes:
            return False
        sites = self.sites
        to, rest = sites[target], [sites[node] for node in shard.nodes if node in sites]
        if any(site.machine == to.machine and site.node != source for site in rest):
            return False
        zone = sites[source].zone
        if zone == to.zone:
            return True
        used = Counter(site.zone for site in rest)
        return used[to.zone] + 1 <= used[zone]

    def _relieve(self, donor: str, takers: Sequence[str], mean: float) -> bool:
        for target in sorted(takers, key=lambda node: (self._loads[node], node))[: 2 * _TRIED]:
            gap = self._loads[donor] - self._loads[target]
            hot = [
                each
                for each in self._held[donor].values()
                if mean / 4 <= each.load < gap and self._fits(each, donor, target)
            ]
            if not hot:
                continue
            chosen = min(hot, key=lambda each: (abs(each.load - gap / 2), each.shard))
            if self._counts[target] < self._counts[donor]:
                self.move(chosen, donor, target)
                return True
            back = [
                each
                for each in self._held[target].values()
                if each.load < chosen.load / 2 and self._fits(each, target, donor)
            ]
            if back:
                self.move(chosen, donor, target)
                self.move(min(back, key=lambda each: (each.load, each.shard)), target, donor)
                return True
        return False
