"""No acknowledgement leaves a process before its disk holds what is acknowledged.

A killed process loses nothing that it has written, synced or not, so only the order of its system
calls can show this.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from quorate.testing.replica_process.cluster import Cluster

PROPOSALS = 40
CALLS = "write,writev,pwrite64,pwritev,fdatasync,fsync"

_BEGUN = re.compile(r"^(?P<pid>\d+) +(?P<call>\w+)\((?P<fd>\d+)(?P<rest>.*)$")
_RESUMED = re.compile(r"^(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")
_NAME = re.compile(r"proposal-\d{4}")
_ENTRY = re.compile(r"acknowledged entry (\d+)")


@dataclass
class SystemCall:
    """A call from the line where it begins to the one where it has succeeded."""

    begun: int
    ended: int
    name: str
    fd: int
    text: str


@dataclass
class Trace:
    """What one process wrote, synced and acknowledged; places are lines."""

    #: Where each proposal was first written, and to what.
    written: dict[str, SystemCall] = field(default_factory=dict)
    syncs: list[SystemCall] = field(default_factory=list)
    #: Where each proposal was acknowledged to its client.
    answered: dict[str, int] = field(default_factory=dict)
    #: Where the log was first acknowledged to the leader up to an index.
    acknowledged: dict[int, int] = field(default_factory=dict)

    def is_durable(self, name: str, place: int) -> bool:
        """Whether a sync that began after a proposal was written had ended before a place."""
        write = self.written.get(name)
        return write is not None and any(
            sync.fd == write.fd and write.ended < sync.begun and sync.ended < place
            for sync in self.syncs
        )


def parse(lines: list[str]) -> Trace:
    """Read what strace wrote."""
    trace = Trace()
    for call in _calls(lines):
        if call.name in ("fdatasync", "fsync"):
            trace.syncs.append(call)
        elif "acknowledged " in call.text:
            entry = _ENTRY.search(call.text)
            if entry is not None:
                trace.acknowledged.setdefault(int(entry[1]), call.begun)
            for name in _NAME.findall(call.text):
                trace.answered.setdefault(name, call.begun)
        else:
            for name in _NAME.findall(call.text):
                trace.written.setdefault(name, call)
    return trace


def _calls(lines: list[str]) -> Iterator[SystemCall]:
    unfinished: dict[str, SystemCall] = {}
    for place, line in enumerate(lines):
        begun, resumed = _BEGUN.match(line), _RESUMED.match(line)
        if begun is not None:
            call = SystemCall(place, place, begun["call"], int(begun["fd"]), begun["rest"])
            unfinished[begun["pid"]] = call
            rest = begun["rest"]
        elif resumed is not None:
            call = unfinished[resumed["pid"]]
            rest = resumed["rest"]
        else:
            continue
        if re.search(r"\) += [0-9]+$", rest):
            call.ended = place
            yield call


def run(directory: Path, *, fsync: bool) -> tuple[str, dict[int, str], dict[str, Trace]]:
    """Propose, and return who led, the names by index, and the trace of every node."""
    options = ["strace", "-f", "-qq", "-s", "65536", "-e", f"trace={CALLS}", "-o"]
    prefixes = {node: [*options, str(directory / f"{node}.trace")] for node in "abc"}
    with Cluster(directory, fsync=fsync, marks=True, prefixes=prefixes) as cluster:
        leader = cluster.leader()
        names = [f"proposal-{number:04}" for number in range(PROPOSALS)]
        indexes = {leader.ask("Note", name.encode())["index"]: name for name in names}
        for process in cluster.processes.values():
            process.stop()
    traces = {
        node: parse(Path(directory, f"{node}.trace").read_text(errors="replace").splitlines())
        for node in "abc"
    }
    return leader.node, indexes, traces


def early(leader: str, indexes: dict[int, str], traces: dict[str, Trace]) -> tuple[int, list[str]]:
    """Return how many acknowledgements there were, and those that left too early."""
    checked, found = 0, []
    for name, place in traces[leader].answered.items():
        checked += 1
        if not traces[leader].is_durable(name, place):
            found.append(f"{leader} to the client: {name}")
    for node, trace in traces.items():
        for index, place in trace.acknowledged.items():
            if index in indexes:
                checked += 1
                if not trace.is_durable(indexes[index], place):
                    found.append(f"{node} to the leader: {indexes[index]}")
    return checked, found


pytestmark = pytest.mark.short

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="install strace: nothing else shows when a file is synced",
)


@needs_strace
def test_no_acknowledgement_precedes_its_sync(tmp_path: Path) -> None:
    leader, indexes, traces = run(tmp_path, fsync=True)
    assert len(traces[leader].answered) == PROPOSALS
    checked, found = early(leader, indexes, traces)
    assert found == []
    # Proposals come one at a time: each is acknowledged to the client, and by a follower at least.
    assert checked >= 2 * PROPOSALS


@needs_strace
def test_a_log_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    checked, found = early(*run(tmp_path, fsync=False))
    assert checked >= 2 * PROPOSALS
    assert len(found) == checked


def test_a_sync_that_began_before_the_write_does_not_count() -> None:
    lines = [
        "11 fdatasync(7 <unfinished ...>",
        '10 write(7, "proposal-0001", 13) = 13',
        "11 <... fdatasync resumed>) = 0",
        '10 write(9, "acknowledged entry 3", 20) = 20',
        "11 fdatasync(7) = 0",
        '10 write(9, "acknowledged proposal proposal-0001", 30) = 30',
    ]
    trace = parse(lines)
    assert trace.acknowledged == {3: 3}
    assert not trace.is_durable("proposal-0001", trace.acknowledged[3])
    assert trace.is_durable("proposal-0001", trace.answered["proposal-0001"])


@pytest.mark.parametrize(
    "sync", ["11 fdatasync(8) = 0", "11 fdatasync(7) = -1 EIO (Input/output error)"]
)
def test_a_failed_sync_and_one_of_another_file_do_not_count(sync: str) -> None:
    lines = [
        '10 write(7, "proposal-0001", 13) = 13',
        sync,
        '10 write(9, "acknowledged proposal proposal-0001", 30) = 30',
    ]
    trace = parse(lines)
    assert not trace.is_durable("proposal-0001", trace.answered["proposal-0001"])
