from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from quorate.storage.engine import selftest
from quorate.storage.engine.memory import Files, MemoryDisk, MemoryEngine
from quorate.storage.engine.port import Batch
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.engine.selftest import SelfTestError


def test_the_installed_rocksdict_passes_and_leaves_nothing(tmp_path: Path) -> None:
    selftest.check(RocksEngine, tmp_path)

    assert not list(tmp_path.iterdir())


class _EndsLate(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return super().iterate(family, start, end and end + b"\x00", reverse=reverse)


class _SeesLaterWrites(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        late = super().iterate
        return (row for _ in range(1) for row in late(family, start, end, reverse=reverse))


class _Forwards(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return super().iterate(family, start, end)


class _RangesLast(MemoryEngine):
    def write(self, batch: Batch, *, patient: bool = False) -> None:
        if not any(len(segment.rows) == 2 for segment in batch.segments["selftest"]):
            return super().write(batch, patient=patient)
        later = Batch()
        for family, segments in batch.segments.items():
            for segment in segments:
                later.rows(family).update(segment.rows)
            for segment in segments:
                for start, end in segment.ranges:
                    later.delete_range(family, start, end)
        return super().write(later, patient=patient)


class _BatchGone(MemoryEngine):
    def write(self, batch: Batch, *, patient: bool = False) -> None:
        super().write(batch, patient=patient)
        batch.segments.clear()
        batch.delete_range("selftest", b"", b"\xff")


class _NeverNone(MemoryEngine):
    def get(self, family: str, key: bytes) -> bytes | None:
        return super().get(family, key) or b""


class _SortsKeys(MemoryEngine):
    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        return super().get_many(family, sorted(keys))


class _ViewsApart(MemoryEngine):
    """Iterators of one family see what was written since."""

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        late = super().iterate
        if family == "selftest":
            return late(family, start, end, reverse=reverse)
        return (row for _ in range(1) for row in late(family, start, end, reverse=reverse))


class _CopiesOneFamily(MemoryEngine):
    def checkpoint(self, target: Path) -> None:
        super().checkpoint(target)
        self._disk._folders[target]["selftest.other"] = bytes(4)


class _CopiesLate(MemoryEngine):
    """A checkpoint shares what is written later."""

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        super().write(batch, patient=patient)
        for target in list(self._disk._folders):
            del self._disk._folders[target]
            super().checkpoint(target)


class _KnowsNoOrphans(MemoryEngine):
    @property
    def orphans(self) -> tuple[str, ...]:
        return ()


class Node:
    """Opens databases in memory by their paths; `copy` keeps what a kill would."""

    def __init__(self, engine: type[MemoryEngine] = MemoryEngine) -> None:
        self._engine = engine
        self._disks: dict[Path, MemoryDisk] = {}
        self._folders: dict[Path, Files] = {}
        #: Batches that a kill takes, which it must not.
        self.lost = 0

    def open(self, path: Path, families: list[str]) -> MemoryEngine:
        if path not in self._disks:
            files = self._folders.get(path, {})
            self._disks[path] = MemoryDisk.restore(files, self._folders)
        return self._engine(self._disks[path], families)

    def copy(self, path: Path, target: Path) -> None:
        self._disks[target] = deepcopy(self._disks[path])
        self._disks[target].keep(self._disks[path].position - self.lost)


@pytest.mark.parametrize(
    ("engine", "fact"),
    [
        (_EndsLate, "its start and not its end"),
        (_Forwards, "backwards"),
        (_NeverNone, "has no value"),
        (_SortsKeys, "in the order of the keys"),
        (_RangesLast, "is applied in order"),
        (_BatchGone, "is applied in order"),
        (_SeesLaterWrites, "one view"),
        (_ViewsApart, "one view"),
        (_CopiesOneFamily, "a checkpoint has"),
        (_CopiesLate, "a checkpoint has"),
        (_KnowsNoOrphans, "on disk are reported"),
    ],
)
def test_the_fact_that_does_not_hold_is_named(engine: type[MemoryEngine], fact: str) -> None:
    node = Node(engine)

    with pytest.raises(SelfTestError, match=fact):
        selftest.check(node.open, copy=node.copy)


def test_the_twin_passes() -> None:
    node = Node()

    selftest.check(node.open, copy=node.copy)


def test_a_write_that_a_kill_takes_is_found() -> None:
    node = Node()
    node.lost = 1

    with pytest.raises(SelfTestError, match="survive a kill"):
        selftest.check(node.open, copy=node.copy)


def test_a_forgetful_engine_is_found() -> None:
    node = Node()

    def opener(path: Path, families: list[str]) -> MemoryEngine:
        if families == ["selftest.other"]:
            return MemoryEngine(MemoryDisk(), ["selftest", *families])
        return node.open(path, families)

    with pytest.raises(SelfTestError, match="are reported"):
        selftest.check(opener, copy=node.copy)
