"""Damages the disk of a node, at a place that a seed chooses."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

#: Where files are in a node's directory, by what is done to them.
_PLACES: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("shards/*/*/data.*/*.sst", ("flip", "cut", "deletion")),
    ("shards/*/*/data.*/*.log", ("flip", "cut", "deletion")),
    ("shards/*/*/data.*/MANIFEST-*", ("flip", "cut", "deletion")),
    ("shards/*/*/data.*/CURRENT", ("flip", "cut", "deletion")),
    ("shards/*/*/pointer", ("flip", "cut", "deletion")),
    ("shards/*/*", ("deletion",)),
    ("log/*.sst", ("flip", "cut", "deletion")),
    ("log/*.log", ("flip", "cut", "deletion")),
    ("log/MANIFEST-*", ("flip", "cut", "deletion")),
    ("log/CURRENT", ("flip", "cut", "deletion")),
    ("notes/*", ("flip", "cut")),
    ("replica", ("deletion",)),
)
#: How many kinds of places there are.
PLACES: Final = len(_PLACES)


class Damage(NamedTuple):
    """What is done to a file."""

    #: Under the node's directory.
    path: Path
    how: str

    def __str__(self) -> str:
        return f"{self.how} of {self.path}"

    @property
    def shows_at_once(self) -> bool:
        """Whether a running node can see it: a file that it has open is there even if deleted."""
        log = self.path.suffix == ".log" and self.how == "deletion"
        return not log and self.path.parts[0] not in ("notes", "replica")


def choose(directory: Path, rng: Random) -> Damage:
    """Choose a file that is there, and what is to happen to it."""
    while True:
        pattern, ways = rng.choice(_PLACES)
        found = sorted(path for path in directory.glob(pattern) if path.stat().st_size)
        if found:
            return Damage(rng.choice(found).relative_to(directory), rng.choice(ways))


def inflict(directory: Path, damage: Damage, rng: Random) -> None:
    """Do it."""
    path = directory / damage.path
    if damage.how == "deletion":
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return
    content = bytearray(path.read_bytes())
    if damage.how == "cut":
        del content[rng.randrange(len(content)) :]
    else:
        for at in rng.sample(range(len(content)), min(len(content), rng.randint(1, 8))):
            content[at] ^= 1 << rng.randrange(8)
    # In place: who has it open goes on with the same file.
    with path.open("r+b") as file:
        file.write(content)
        file.truncate(len(content))
