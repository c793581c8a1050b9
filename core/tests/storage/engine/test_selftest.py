from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.storage.engine import selftest
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.engine.port import Batch, Change
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.engine.selftest import SelfTestError


def test_the_installed_rocksdict_passes_and_leaves_nothing(tmp_path: Path) -> None:
    selftest.check(RocksEngine, tmp_path)

    assert not list(tmp_path.iterdir())


def test_it_is_quick(tmp_path: Path) -> None:
    def timed() -> float:
        # Of this thread alone: what else the machine and its disk do is not the check's doing.
        began = time.thread_time()
        selftest.check(RocksEngine, tmp_path)
        return time.thread_time() - began

    assert min(timed() for _ in range(5)) < 0.05


class _EndsLate(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return super().iterate(family, start, end + b"\x00", reverse=reverse)


class _SeesLaterWrites(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        late = super().iterate
        return (row for _ in range(1) for row in late(family, start, end, reverse=reverse))


class _Forwards(MemoryEngine):
    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return super().iterate(family, start, end)


class _RangesLast(MemoryEngine):
    def write(self, batch: Batch, *, patient: bool = False) -> None:
        if len(batch.operations) == 3:
            batch.operations.sort(key=lambda each: each[0] is Change.DELETE_RANGE)
        super().write(batch, patient=patient)


class _BatchGone(MemoryEngine):
    def write(self, batch: Batch, *, patient: bool = False) -> None:
        super().write(batch, patient=patient)
        batch.operations[:] = [(Change.DELETE_RANGE, "selftest", b"", b"\xff")]


class _NeverNone(MemoryEngine):
    def get(self, family: str, key: bytes) -> bytes | None:
        return super().get(family, key) or b""


@pytest.mark.parametrize(
    ("engine", "fact"),
    [
        (_EndsLate, "its start and not its end"),
        (_Forwards, "backwards"),
        (_NeverNone, "has no value"),
        (_RangesLast, "happens in its order"),
        (_BatchGone, "happens in its order"),
        (_SeesLaterWrites, "does not see later writes"),
    ],
)
def test_the_fact_that_does_not_hold_is_named(engine: type[MemoryEngine], fact: str) -> None:
    disk = MemoryDisk()

    with pytest.raises(SelfTestError, match=fact):
        selftest.check(lambda _path, families: engine(disk, families))


def test_a_forgetful_engine_is_found() -> None:
    def opener(_path: Path, _families: list[str]) -> MemoryEngine:
        return MemoryEngine(MemoryDisk(), ["selftest"])

    with pytest.raises(SelfTestError, match="outlives a close"):
        selftest.check(opener)
