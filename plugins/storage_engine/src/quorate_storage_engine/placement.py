"""The placement of segments: a pure function of the load of engines."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b


@dataclass(slots=True, kw_only=True)
class Load:
    """The load of an engine."""

    name: str
    #: Its rack; replicas of a segment go to different racks where possible. Empty: unknown.
    rack: str = ""
    replicas: int = 0
    leaderships: int = 0


def place(
    loads: Sequence[Load],
    wanted: int,
    *,
    seed: bytes,
    holders: Iterable[str] = (),
    barred: Collection[str] = (),
) -> list[str]:
    """Choose engines for up to `wanted` replicas besides the holders; fewer if engines run out.

    Racks with the fewest replicas of the segment come first, then engines with the fewest
    replicas. `seed` breaks ties, so that the replicas of two segments have different neighbours.
    """
    held = set(holders)
    racks = Counter(load.rack for load in loads if load.name in held)
    free = [load for load in loads if load.name not in held and load.name not in barred]
    chosen: list[str] = []
    while free and len(chosen) < wanted:
        fewest = min((racks[load.rack], load.replicas) for load in free)
        equals = [load for load in free if (racks[load.rack], load.replicas) == fewest]
        best = min(equals, key=lambda load: _lot(seed, load.name)) if equals[1:] else equals[0]
        racks[best.rack] += 1
        free.remove(best)
        chosen.append(best.name)
    return chosen


def preferred_first(loads: Iterable[Load], chosen: Sequence[str], *, seed: bytes) -> list[str]:
    """Return the chosen engines, first the engine that leads the fewest segments."""
    leaderships = {load.name: load.leaderships for load in loads if load.name in chosen}
    first = min(chosen, key=lambda name: (leaderships[name], _lot(seed, name)))
    return [first, *(name for name in chosen if name != first)]


def _lot(seed: bytes, name: str) -> tuple[bytes, str]:
    # Not a checksum: those of two seeds differ by a constant, so the order of engines would repeat.
    return blake2b(name.encode(), key=blake2b(seed, digest_size=8).digest()).digest(), name
