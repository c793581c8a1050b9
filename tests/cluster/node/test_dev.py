"""`quorate dev`: a cluster as a newcomer has it, and the command line beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from quorate.plugin.discovery import installed
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

QUORATE = (sys.executable, "-m", "quorate.cli")
NODES = 3
#: What `dev` serves beside what comes with core.
PLUGINS = [each.name for each in installed() if each.distribution != "quorate"]

INFORMS = re.compile(r"\d{4}-\d\d-\d\dT\S+Z INFO ")
#: What a node warns of on a machine that has too much to do.
SLOW = re.compile(
    r"Z WARNING .* (takes \d+ ms, most of it in stage|not ready: |canary .* did not answer: )"
)

pytestmark = pytest.mark.ci


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}


def happened(condition: Callable[[], bool]) -> None:
    """Wait for it."""
    until(lambda: condition() or None)


def free_port() -> int:
    """Return the first of the ports that a cluster needs, all of which nobody listens on."""
    return free_ports(*range(NODES), *range(100, 100 + NODES))[0]


class Dev:
    """`quorate dev` in a directory; each life of it is a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "dev"
        self.port = free_port()
        self.program = Program("quorate dev", directory / "dev.out")
        self.addresses = [f"127.0.0.1:{self.port + number}" for number in range(NODES)]

    @contextmanager
    def started(self, *options: str) -> Iterator[None]:
        before = len(self.program.said)
        command = (*QUORATE, "dev", "--dir", str(self.directory), *options)
        self.program.start(command, environment())
        try:
            happened(lambda: not self.program.runs or "\nready; " in self.program.said[before:])
            yield
        finally:
            self.program.close()

    @contextmanager
    def ready(self, *options: str) -> Iterator[None]:
        with self.started("--port", str(self.port), *options):
            assert self.program.runs, self.program.said
            yield

    def children(self) -> list[int]:
        """The processes of the nodes."""
        pid = self.program.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def do(self, verb: str, node: str) -> subprocess.CompletedProcess[str]:
        """Have it do something with a node."""
        return self.call("dev", verb, node, "--dir", str(self.directory))

    def states(self) -> dict[str, str]:
        """The states of the nodes, as the others tell them."""
        status = json.loads(self.run("status", "--output", "json").stdout)
        return {node["node"]: node["state"] for node in status["nodes"]}

    def run(self, *command: str, at: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in another process, which knows the endpoints and nothing else."""
        return self.call(*command, "--endpoints", at or ",".join(self.addresses))

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in another process."""
        return subprocess.run(
            [*QUORATE, *command],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """What a shell runs in the background ignores Ctrl-C, and so would what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def dev(tmp_path: Path) -> Dev:
    return Dev(tmp_path)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    dev = Dev(tmp_path_factory.mktemp("one"))
    with dev.ready("--nodes", "1"):
        yield dev


@pytest.fixture
def one(running: Dev) -> Dev:
    """A cluster of one node, which is asked and goes on."""
    running.addresses = running.addresses[:1]
    return running


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_cluster_is_used_from_elsewhere_ends_with_ctrl_c_and_keeps_its_data(dev: Dev) -> None:
    with dev.ready():
        for address in dev.addresses:
            assert address in dev.program.said
        assert str(dev.directory) in dev.program.said
        assert dev.run("kv", "put", "a", "1").returncode == 0
        assert dev.run("kv", "get", "a").stdout == "1"
        status = json.loads(dev.run("status", "--output", "json").stdout)
        assert [(node["node"], node["state"]) for node in status["nodes"]] == [
            ("node1", "ready"),
            ("node2", "ready"),
            ("node3", "ready"),
        ]
        assert {shard["leader"] for shard in status["shards"]} <= {"node1", "node2", "node3"}
        children = dev.children()
        assert len(children) == NODES
        # As a terminal does: to the command and to all that it started.
        dev.program.send_signal(signal.SIGINT)
        assert dev.program.wait() == 0
        assert [pid for pid in children if alive(pid)] == []
        assert "\nstopping the nodes; Ctrl-C again ends them at once\n" in dev.program.said
        assert dev.program.said.endswith("stopped\n")
    with dev.ready():
        assert dev.run("kv", "get", "a").stdout == "1"
        children = dev.children()
        os.kill(dev.program.pid, signal.SIGTERM)
        assert dev.program.wait() == 0
        assert [pid for pid in children if alive(pid)] == []
    said = [line for log in dev.directory.glob("*.log") for line in log.read_text().splitlines()]
    assert any("5/5 ready" in line for line in said)
    # No traceback, no warning, and nothing that a library writes beside the log.
    assert [line for line in said if not (INFORMS.match(line) or SLOW.search(line))] == []


def test_nodes_end_with_a_command_that_is_killed_and_leave_their_ports_free(dev: Dev) -> None:
    with dev.ready():
        assert dev.run("kv", "put", "a", "1").returncode == 0
        children = dev.children()
        assert len(children) == NODES
        # The command alone, as `kill -9` does: nobody is left to end its nodes.
        os.kill(dev.program.pid, signal.SIGKILL)
        assert dev.program.wait() == -signal.SIGKILL
        happened(lambda: not any(alive(pid) for pid in children))
    for log in dev.directory.glob("*.log"):
        assert log.read_text().endswith(
            "error: the `quorate dev` that started this node has ended; ending with it\n"
        )
    with dev.ready():
        assert dev.run("kv", "get", "a").stdout == "1"


def test_a_node_that_dies_is_told_with_its_log_and_can_come_back(dev: Dev) -> None:
    with dev.ready():
        os.kill(dev.children()[0], signal.SIGKILL)
        happened(lambda: "node1 ended with signal SIGKILL" in dev.program.said)
        happened(lambda: "node1 does not answer" in dev.program.said)
        last = (dev.directory / "node1.log").read_text().splitlines()[-1]
        assert "node1.log ends with:\n  " in dev.program.said
        assert f"  {last}\n" in dev.program.said
        again = f"quorate dev start node1 --dir {dev.directory}"
        assert f"`{again}`" in dev.program.said
        assert dev.states()["node1"].startswith("does not answer")
        assert dev.run("kv", "put", "a", "1").returncode == 0
        assert dev.do("start", "node1").stdout.startswith("node1 was started (pid ")
        happened(lambda: "node1 answers again" in dev.program.said)


def test_a_node_is_killed_stopped_and_started_from_elsewhere(dev: Dev) -> None:
    with dev.ready("--nodes", "1"):
        dev.addresses = dev.addresses[:1]
        assert dev.run("kv", "put", "a", "1").returncode == 0
        for verb, done in (("kill", "node1 was killed\n"), ("stop", "node1 was stopped\n")):
            [before] = dev.children()
            assert dev.do(verb, "node1").stdout == done
            assert not alive(before)
            # It was asked for: the command goes on without any node.
            refused = dev.do(verb, "node1")
            assert (refused.returncode, refused.stdout) == (1, "")
            assert refused.stderr.startswith("error: node1 does not run; start it with ")
            [pid] = re.findall(r"node1 was started \(pid (\d+)\)", dev.do("start", "node1").stdout)
            assert dev.children() == [int(pid)]
            happened(lambda: dev.run("kv", "get", "a").stdout == "1")
        running = dev.do("start", "node1")
        assert f"error: node1 runs already, as process {pid}" in running.stderr
        assert dev.do("kill", "node9").stderr == (
            "error: there is no node node9; name one of node1\n"
        )
        assert "signal SIGKILL" not in dev.program.said
        # What was started since ends with it, too.
        dev.program.send_signal(signal.SIGINT)
        assert dev.program.wait() == 0
        assert not alive(int(pid))
    assert not (dev.directory / "control.sock").exists()
    assert dev.do("kill", "node1").returncode == 5


def test_a_node_that_cannot_start_ends_all_with_its_last_lines(dev: Dev) -> None:
    with dev.ready("--nodes", "1"):
        dev.program.send_signal(signal.SIGINT)
        assert dev.program.wait() == 0
    file = dev.directory / "node1.toml"
    file.write_text(file.read_text().replace("[cluster", '[cluster]\ntoken = "other"\n[cluster', 1))

    with dev.started():
        assert dev.program.wait() == 1

    end = dev.program.said.rpartition("error: ")[2]
    assert "belongs to a cluster with another token" in end
    assert "Traceback" not in dev.program.said


def test_a_port_in_use_is_named_before_anything_is_started(dev: Dev) -> None:
    with (
        socket.create_server(("127.0.0.1", dev.port + 1)),
        dev.started("--port", str(dev.port)),
    ):
        assert dev.program.wait() == 1

    assert f"error: {dev.addresses[1]}, for gRPC of node2, is in use" in dev.program.said
    assert not list(dev.directory.glob("*.log"))


def test_a_watch_ends_with_ctrl_c(one: Dev, tmp_path: Path) -> None:
    watch = Program("quorate watch", tmp_path / "watch.out")
    watch.start((*QUORATE, "watch", "kv", "--endpoints", one.addresses[0]), environment())
    try:
        assert one.run("kv", "put", "watched", "1").returncode == 0
        happened(lambda: "watched = 1\n" in watch.said)
        watch.send_signal(signal.SIGINT)
        assert watch.wait() == 0
    finally:
        watch.close()


def test_a_live_status_has_rates_and_ends_with_ctrl_c(one: Dev, tmp_path: Path) -> None:
    live = Program("quorate status", tmp_path / "live.out")
    options = ("--watch", "--output", "json", "--endpoints", one.addresses[0])
    live.start((*QUORATE, "status", *options), environment())
    try:
        happened(lambda: live.said.count("\n") >= 2)
        live.send_signal(signal.SIGINT)
        assert live.wait() == 0
    finally:
        live.close()
    first, second = (json.loads(line) for line in live.said.splitlines()[:2])
    assert {shard["commands_per_s"] for shard in first["shards"]} == {None}
    assert all(shard["commands_per_s"] >= 0 for shard in second["shards"])


@pytest.mark.parametrize("load", ["writes", "batch", "reads", "watch"])
def test_a_load_is_measured_and_leaves_nothing(load: str, one: Dev) -> None:
    ran = one.run("bench", load, "--count", "20", "--concurrency", "4", "--output", "json")

    assert ran.returncode == 0, ran.stderr
    [row] = json.loads(ran.stdout)
    assert (row["load"], row["calls"]) == (load, 20)
    assert row["items"] == (20_000 if load == "batch" else 20)
    assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]
    assert json.loads(one.run("kv", "list", "bench/", "--output", "json").stdout) == []


def test_a_backup_becomes_a_cluster_of_its_own(one: Dev, tmp_path: Path) -> None:
    assert one.run("kv", "put", "kept", "1").returncode == 0
    ran = one.run("backup", str(tmp_path / "backup"))
    assert ran.returncode == 0, ran.stderr
    port = free_port()
    file = tmp_path / "restored.toml"
    file.write_text(
        f'[node]\nname = "other"\nport = {port}\ndir = "{tmp_path / "other"}"\n'
        f"[plugins]\nenabled = {json.dumps(PLUGINS)}\n"
    )
    restore = [*QUORATE, "restore", str(tmp_path / "backup"), "--config", str(file)]
    done = subprocess.run(
        restore, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"other has (\S+, )*greeting/0, (\S+, )*metadata/0(, \S+)* in ", done.stdout)
    node = Program("other", tmp_path / "other.log")
    node.start((*QUORATE, "serve", "--config", str(file)), environment())
    try:
        happened(lambda: "5/5 ready" in node.said)
        assert one.run("kv", "get", "kept", at=f"127.0.0.1:{port}").stdout == "1"
    finally:
        node.close()


def test_an_encrypted_cluster_is_asked_with_the_options_that_it_tells(dev: Dev) -> None:
    with dev.ready("--tls"):
        [ca] = set(re.findall(r"quorate --tls-ca (\S+)", dev.program.said))
        assert dev.run("--tls-ca", ca, "kv", "put", "a", "1").returncode == 0
        # It is not answered in clear.
        assert dev.run("kv", "get", "a").returncode == 5
    with dev.ready():
        assert dev.run("--tls-ca", ca, "kv", "get", "a").stdout == "1"
