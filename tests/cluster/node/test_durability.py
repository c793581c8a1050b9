"""No write is answered before the disks of a majority hold it.

A killed node loses nothing that it has written, synced or not, so only the order of its system
calls can show this.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until

WRITES: Final = 40
CALLS: Final = "write,writev,pwrite64,pwritev,fdatasync,fsync"

_BEGUN = re.compile(r"^(?P<pid>\d+) +(?P<at>[\d.]+) (?P<call>\w+)\((?P<fd>\d+)(?P<rest>.*)$")
_RESUMED = re.compile(r"^(?P<pid>\d+) +(?P<at>[\d.]+) <\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")
_ENDED = re.compile(r"\) += \d+ <(?P<took>[\d.]+)>$")
_KEY = re.compile(r"durable/\d{4}")


@dataclass
class SystemCall:
    """A call that succeeded, from when to when."""

    begun: float
    ended: float
    name: str
    fd: int
    text: str


def durable(lines: Sequence[str]) -> dict[str, float]:
    """Return from strace's lines since when each key has been durable.

    It is once a sync has ended that began after the key was written to the same file.
    """
    written: dict[tuple[int, str], float] = {}
    found: dict[str, float] = {}
    # A sync is judged by what had been written when it began.
    for call in sorted(_calls(lines), key=lambda each: each.ended):
        if call.name in ("fdatasync", "fsync"):
            for (fd, key), ended in written.items():
                if fd == call.fd and ended <= call.begun:
                    found.setdefault(key, call.ended)
        else:
            for key in _KEY.findall(call.text):
                written.setdefault((call.fd, key), call.ended)
    return found


def _calls(lines: Sequence[str]) -> Iterator[SystemCall]:
    unfinished: dict[str, SystemCall] = {}
    for line in lines:
        begun, resumed = _BEGUN.match(line), _RESUMED.match(line)
        if begun is not None:
            at = float(begun["at"])
            call = SystemCall(at, at, begun["call"], int(begun["fd"]), begun["rest"])
            unfinished[begun["pid"]] = call
            rest = begun["rest"]
        elif resumed is not None and resumed["pid"] in unfinished:
            call = unfinished[resumed["pid"]]
            rest = resumed["rest"]
        else:
            continue
        if ended := _ENDED.search(rest):
            call.ended = call.begun + float(ended["took"])
            yield call


def early(answered: Mapping[str, float], traces: Sequence[Sequence[str]]) -> list[str]:
    """Return the keys that were answered before a majority of the nodes held them."""
    nodes = [durable(lines) for lines in traces]
    return [
        key
        for key, at in answered.items()
        if sum(node.get(key, float("inf")) < at for node in nodes) * 2 <= len(nodes)
    ]


@contextmanager
def traced(node: NodeProcess, path: Path) -> Iterator[None]:
    """Have strace write a node's system calls to a file."""
    options = ["-f", "-ttt", "-T", "-s", "65536", "-e", f"trace={CALLS}", "-o", str(path)]
    command = ["strace", *options, "-p", str(node.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        first = strace.stderr.readline()
        if "attached" not in first:
            pytest.skip(f"strace may not trace other processes here: {first.strip()}")
        try:
            yield
        finally:
            strace.terminate()


@pytest.mark.ci
@pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="install strace: nothing else shows when a file is synced",
)
def test_no_answer_precedes_the_syncs_of_a_majority(tmp_path: Path) -> None:
    answered: dict[str, float] = {}
    with Cluster(tmp_path) as cluster, ExitStack() as stack:
        for name, node in cluster.ready().nodes.items():
            stack.enter_context(traced(node, tmp_path / f"{name}.trace"))
        client = stack.enter_context(Client(cluster.endpoints))
        for number in range(WRITES):
            key = f"durable/{number:04}"
            client.kv.put(key, b"")
            answered[key] = time.time()
        paths = [tmp_path / f"{name}.trace" for name in cluster.nodes]
        # The last one's calls are in the files.
        until(lambda: not early({key: time.time()}, [read(path) for path in paths]) or None)
    traces = [read(path) for path in paths]
    assert early(answered, traces) == []
    # As if none of the syncs had been there.
    unsynced = [[line for line in lines if "sync" not in line] for lines in traces]
    assert early(answered, unsynced) == list(answered)


def read(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()


WRITTEN = '10 1.0 write(7, "durable/0001", 12) = 12 <0.1>'


def test_a_key_is_durable_at_the_end_of_a_sync_that_began_after_the_write() -> None:
    lines = [
        "11 0.9 fdatasync(7 <unfinished ...>",
        WRITTEN,
        "11 1.5 <... fdatasync resumed>) = 0 <0.6>",
        "11 2.0 fdatasync(7) = 0 <0.5>",
        "11 3.0 fdatasync(7) = 0 <0.5>",
    ]
    assert durable(lines) == {"durable/0001": 2.5}


@pytest.mark.parametrize(
    "sync",
    ["11 2.0 fdatasync(8) = 0 <0.1>", "11 2.0 fdatasync(7) = -1 EIO (Input/output error) <0.1>"],
)
def test_a_failed_sync_and_one_of_another_file_do_not_count(sync: str) -> None:
    assert durable([WRITTEN, sync]) == {}


def test_what_one_of_three_holds_may_not_be_answered() -> None:
    synced = [WRITTEN, "10 2.0 fdatasync(7) = 0 <0.5>"]
    answered = {"durable/0001": 3.0}
    assert early(answered, [synced, [], []]) == ["durable/0001"]
    assert early(answered, [synced, synced, []]) == []
    assert early({"durable/0001": 2.4}, [synced, synced, synced]) == ["durable/0001"]
