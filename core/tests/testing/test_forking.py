from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from quorate.testing.cluster import Cluster
from quorate.testing.program import Program
from quorate.testing.waiting import until

#: Starts a node, names it, and waits to be killed.
TEST = """
import signal, sys
from pathlib import Path
from quorate.testing.cluster import Cluster
with Cluster(Path(sys.argv[1]), 1) as cluster:
    print(cluster.nodes["node1"].pid, flush=True)
    signal.pause()
"""


def test_a_fork_is_a_run_of_the_command_line(program: Program) -> None:
    program.fork(["--version"], os.environ)
    assert program.wait() == 0
    program.fork(["serve"], {**os.environ, "QUORATE__NODE__PORT": "none"})
    assert program.wait() == 3
    first, second = program.said.splitlines()
    assert first.startswith("quorate ")
    assert second.startswith("error: QUORATE__NODE__PORT: node.port: must be a valid integer")


def test_a_fork_keeps_its_id_until_its_end_is_known(program: Program) -> None:
    program.fork(["--version"], os.environ)
    place = Path(f"/proc/{program.pid}")
    until(lambda: True if stat(program.pid)[0] == "Z" else None)
    # As long as its parent would take to bury it.
    for _ in range(20):
        time.sleep(0.01)
        assert place.exists()
    assert program.wait() == 0
    assert not place.exists()


def test_several_threads_learn_of_the_end_of_a_fork(program: Program) -> None:
    program.fork(["--version"], os.environ)

    def look() -> int:
        while program.runs:
            pass
        return program.wait()

    with ThreadPoolExecutor(4) as threads:
        codes = [threads.submit(look) for _ in range(4)]
        assert [each.result() for each in codes] == [0] * 4


def test_no_origin_is_told(program: Program, tmp_path: Path) -> None:
    package = tmp_path / "quorate"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no such release')")
    with pytest.raises(RuntimeError, match=r"forked from has ended.*forked=False"):
        program.fork(["--version"], {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert not program.runs


@pytest.mark.ci
def test_a_forked_node_is_killed_and_stopped_as_others_are(tmp_path: Path) -> None:
    with Cluster(tmp_path, 1) as cluster:
        (node,) = cluster.nodes.values()
        # A fork has only one thread of those of its origin.
        assert len(list(Path(f"/proc/{origin_of(node.pid)}/task").iterdir())) == 1
        assert os.getsid(node.pid) == node.pid
        cluster.ready()
        node.kill()
        assert node.wait() == -signal.SIGKILL
        node.start()
        cluster.ready()
        assert node.stop() == 0


@pytest.mark.ci
def test_a_forked_node_ends_with_a_test_that_is_killed(program: Program, tmp_path: Path) -> None:
    program.start([sys.executable, "-c", TEST, str(tmp_path)], os.environ)
    node = until(lambda: int(program.said or 0) or None)
    origin = origin_of(node)
    program.send_signal(signal.SIGKILL)
    until(lambda: True if stat(node)[0] == stat(origin)[0] == "Z" else None)


def origin_of(pid: int) -> int:
    """Return the process that a process and its parent were forked from."""
    return int(stat(int(stat(pid)[1]))[1])


def stat(pid: int) -> list[str]:
    """Return what the kernel tells of a process, from its state on: Z when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return ["Z"]
