from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import Position
from quorate.observe.failpoints import VARIABLE, arm
from quorate.storage.data.checkpoint import Incoming
from quorate.storage.data.home import DiskHome, MemoryHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError, EngineError, FullError

if TYPE_CHECKING:
    from core.tests.storage.data.conftest import Homes, Written

EMPTY_AHEAD = replace(EMPTY, position=Position(99, 9))

BEFORE = ["install.begun", "pointer.written"]
BEHIND = [
    "pointer.renamed",
    "install.pointed",
    "install.swapped",
    "install.closed",
    "install.removed",
]


class Crash(BaseException):
    """The process ends here."""


def crash() -> None:
    raise Crash


def test_an_install_replaces_everything(homes: Homes, written: Written) -> None:
    ahead, behind = homes.open("ahead"), homes.open("behind", ("left", "rows"))
    written.apply(ahead, *range(1, 31), term=3)
    written.apply(behind, 1, 2, 25, term=2)
    ahead.flush()
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()

    behind.install(incoming)

    assert behind.record == ahead.record
    assert behind.installed == Position(30, 3)
    assert behind.durable_index == 30
    assert written.rows(behind) == list(range(21, 31))
    assert written.digest(behind) == written.digest(ahead)
    assert "left" in behind.families
    behind.tidy()
    assert homes.home("behind").folders() == ("data.2",)
    written.apply(behind, 31, term=3)
    homes.kill()
    again = homes.open("behind")
    assert (again.applied, again.installed) == (31, Position(30, 3))
    assert written.rows(again) == list(range(22, 32))


def swapped(homes: Homes, written: Written) -> ShardData:
    """Return data that still has the database that a snapshot has replaced."""
    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, 1, 2)
    written.apply(behind, 1)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    behind.install(incoming)
    return behind


def test_closing_waits_for_what_removes_replaced_data(homes: Homes, written: Written) -> None:
    behind = swapped(homes, written)
    removing, may_go_on, closed = Event(), Event(), Event()

    def wait() -> None:
        removing.set()
        assert may_go_on.wait(10)

    def close() -> None:
        behind.close()
        closed.set()

    with arm("install.closed", wait), ThreadPoolExecutor(2) as pool:
        tidying = pool.submit(behind.tidy)
        assert removing.wait(10)
        closing = pool.submit(close)
        assert not closed.wait(0.2)
        may_go_on.set()
        tidying.result(10)
        closing.result(10)

    assert homes.home("behind").folders() == ("data.2",)


def test_replaced_data_goes_though_it_cannot_be_flushed(
    homes: Homes, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk it is its removal that makes room."""
    behind = swapped(homes, written)

    def refuse() -> None:
        raise FullError("no space")

    monkeypatch.setattr(behind._retired[0].engine, "flush", refuse)
    behind.tidy()

    assert homes.home("behind").folders() == ("data.2",)


def test_what_was_installed_stays_when_it_is_discarded(homes: Homes, written: Written) -> None:
    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, 1)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    behind.install(incoming)

    incoming.discard()

    assert written.rows(behind) == [1]
    with pytest.raises(ValueError, match="is not ahead"):
        behind.install(incoming)


def test_a_finished_snapshot_is_discarded(homes: Homes, written: Written) -> None:
    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, 1)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()

    incoming.discard()

    assert homes.home("behind").folders() == ("data.1",)


@pytest.mark.parametrize("applied", [5, 6])
def test_nothing_goes_back_by_an_install(homes: Homes, written: Written, applied: int) -> None:
    one, other = homes.open("one"), homes.open("other")
    written.apply(one, 5)
    written.apply(other, applied)
    incoming = written.send(one.checkpoint(), other)
    incoming.finish()

    with pytest.raises(ValueError, match="is not ahead"):
        other.install(incoming)

    incoming.discard()
    assert written.rows(other) == [applied]


def test_readers_of_the_old_data_end_by_themselves(homes: Homes, written: Written) -> None:
    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, *range(1, 20))
    written.apply(behind, *range(1, 5))
    rows = behind.iterate("rows", b"", None)
    next(rows)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    behind.install(incoming)
    del rows

    behind.tidy()

    assert homes.home("behind").folders() == ("data.2",)


def test_a_sync_that_began_before_an_install_ends_well(homes: Homes, written: Written) -> None:
    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, *range(1, 20))
    written.apply(behind, 1)
    index = behind.begin_sync()
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    behind.install(incoming)
    behind.tidy()
    behind.sync()

    behind.synced(index)

    assert behind.durable_index == 19


INSTALL = """
import sys
from dataclasses import replace
from pathlib import Path
from quorate.consensus.journal import Position
from quorate.storage.data.home import DiskHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch

def written(data, index, term):
    batch = Batch()
    batch.put("rows", b"%d" % index, b"v")
    data.commit(batch, replace(EMPTY, position=Position(index, term)))

home = Path(sys.argv[1])
ahead = ShardData.open(DiskHome(home / "ahead"), ["rows"])
behind = ShardData.open(DiskHome(home / "behind"), ["rows"])
written(behind, 5, 2)
behind.sync()
written(ahead, 30, 3)
ahead.flush()
checkpoint = ahead.checkpoint()
incoming = behind.incoming(checkpoint.manifest())
for name, size, _ in checkpoint.manifest().files:
    if size:
        incoming.write(name, 0, checkpoint.read(name, 0, size))
incoming.finish()
behind.install(incoming)
behind.tidy()
print("not killed")
"""


@pytest.mark.parametrize("point", ["data.created", *BEFORE, *BEHIND])
def test_a_process_that_is_killed_at_a_step_leaves_the_old_data_or_the_new(
    tmp_path: Path, written: Written, point: str
) -> None:
    def run(failpoints: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", INSTALL, str(tmp_path)],
            env={**os.environ, VARIABLE: failpoints},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    # A first start writes a pointer too: that one is let through.
    made = ShardData.open(DiskHome(tmp_path / "ahead"), ["rows"])
    made.close()
    if point != "data.created":
        ShardData.open(DiskHome(tmp_path / "behind"), ["rows"]).close()

    process = run(f"{point}=kill")

    assert process.returncode == -9, process.stdout + process.stderr
    again = ShardData.open(DiskHome(tmp_path / "behind"), ["rows"])
    newest = 0 if point == "data.created" else 5 if point in BEFORE else 30
    assert written.rows(again) == ([newest] if newest else [])
    assert again.installed == (Position(30, 3) if point in BEHIND else None)
    again.close()
    assert len([each for each in (tmp_path / "behind").iterdir() if each.is_dir()]) == 1


def interrupted(home: MemoryHome, written: Written, point: str) -> tuple[str, str]:
    """Crash at a point of an install; return the digests of the old data and of the new."""
    ahead, behind = (ShardData.open(each, ["rows"]) for each in (MemoryHome(), home))
    written.apply(ahead, *range(1, 31), term=3)
    written.apply(behind, *range(1, 6), term=2)
    behind.sync()
    digests = written.digest(behind), written.digest(ahead)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    with arm(point, crash), pytest.raises(Crash):
        installed(behind, incoming)
    return digests


def installed(data: ShardData, incoming: Incoming) -> None:
    data.install(incoming)
    data.tidy()


@pytest.mark.parametrize("point", [*BEFORE, *BEHIND])
def test_a_kill_at_every_step_leaves_the_old_data_or_the_new(written: Written, point: str) -> None:
    home = MemoryHome()
    old, new = interrupted(home, written, point)
    home.kill()

    again = ShardData.open(home, ["rows"])

    assert written.digest(again) == (old if point in BEFORE else new)
    assert again.installed == (None if point in BEFORE else Position(30, 3))
    assert len(home.folders()) == 1


@pytest.mark.parametrize("point", [*BEFORE, *BEHIND])
def test_a_power_loss_at_every_step_leaves_the_old_data_or_the_new(
    written: Written, point: str
) -> None:
    found = set()
    for seed in range(20):
        home = MemoryHome()
        old, new = interrupted(home, written, point)
        home.lose_power(Random(seed))
        again = ShardData.open(home, ["rows"])
        digest = written.digest(again)
        assert digest in (old, new)
        assert again.installed == (Position(30, 3) if digest == new else None)
        found.add("new" if digest == new else "old")

    # A rename that was not synced stays or does not.
    expected = {"old"} if point in BEFORE else {"new"}
    assert found == ({"old", "new"} if point == "pointer.renamed" else expected)


@pytest.mark.parametrize("installing", [True, False])
def test_a_pointer_that_was_read_is_durable_before_anything_rests_on_it(
    written: Written, installing: bool
) -> None:
    """Killed between rename and sync, started again, and only then does the machine lose power."""
    for seed in range(20):
        home = MemoryHome()
        if installing:
            interrupted(home, written, "pointer.renamed")
        else:
            with arm("pointer.renamed", crash), pytest.raises(Crash):
                ShardData.open(home, ["rows"])
        home.kill()
        again = ShardData.open(home, ["rows"])
        written.apply(again, 31, term=4)
        again.sync()
        home.lose_power(Random(seed))

        assert 31 in written.rows(ShardData.open(home, ["rows"]))


def test_files_that_were_not_synced_do_not_survive_a_power_loss(written: Written) -> None:
    """The twin shows what a receiver that forgets to sync would lose."""
    outcomes = set()
    for seed in range(20):
        home = MemoryHome()
        ahead, behind = (ShardData.open(each, ["rows"]) for each in (MemoryHome(), home))
        written.apply(ahead, *range(1, 31))
        incoming = written.send(ahead.checkpoint(), behind)
        home.sync, kept = lambda folder: None, home.sync  # type: ignore[method-assign]
        incoming.finish()
        behind.install(incoming)
        home.sync = kept  # type: ignore[method-assign]
        home.lose_power(Random(seed))
        try:
            outcomes.add(written.rows(ShardData.open(home, ["rows"])) == list(range(21, 31)))
        except DamagedError:
            outcomes.add(False)

    assert False in outcomes


@pytest.mark.parametrize("point", ["pointer.written", "pointer.renamed"])
def test_an_install_in_doubt_stops_all_writes_and_reads_go_on(
    homes: Homes, written: Written, point: str
) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    ahead, behind = homes.open("ahead"), homes.open("behind")
    written.apply(ahead, *range(1, 31), term=3)
    written.apply(behind, *range(1, 6), term=2)
    incoming = written.send(ahead.checkpoint(), behind)
    incoming.finish()
    with arm(point, full), pytest.raises(EngineError, match=r"after an install.*No space left"):
        behind.install(incoming)

    assert written.rows(behind) == [1, 2, 3, 4, 5]
    with pytest.raises(EngineError, match="restart the node"):
        behind.commit(Batch(), EMPTY_AHEAD)
    incoming.discard()
    homes.kill()
    again = homes.open("behind")
    assert again.installed == (None if point == "pointer.written" else Position(30, 3))
