"""`quorate serve` as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from quorate.cli.failures import ExitCode
from quorate.cli.main import main
from quorate.config import load
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.node.directory import unfinished
from quorate.node.process import MOST_GIVEN_UP, NodeEndedError, run
from quorate.plugin.catalog import build
from quorate.plugin.shard_id import METADATA
from quorate.shards.shard.removal import Membership, RemovedError
from quorate.testing.ports import free_ports
from quorate.testing.waiting import until
from quorate.topology.replicas.declaration import ReleaseTooOldError

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


@contextmanager
def serving(path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-c",
        "import sys; from quorate.cli.main import main; sys.exit(main())",
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
    with subprocess.Popen(
        [*command, "serve", "--config", str(path), *options],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        killer = threading.Timer(60, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if wanted in line:
            return lines
    raise AssertionError("".join(lines))


@pytest.mark.ci
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_node_tells_its_steps_and_ends_in_order(nodes: Nodes, told: signal.Signals) -> None:
    [path] = nodes.files(1)
    with serving(path) as process:
        lines = read_until(process, "5/5 ready")
        process.send_signal(told)
        read_until(process, "stopped")
        assert process.wait(30) == 0

    steps = [found[1] for line in lines if (found := re.search(r"(\d)/5 ", line))]
    assert steps == ["1", "2", "3", "4", "5"]


@pytest.mark.ci
def test_what_started_a_node_hears_of_its_life(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    name = f"quorate-{path.parent.name}-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hearing:
        hearing.bind(f"\0{name}")
        hearing.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        with serving(path) as process:
            heard = [hearing.recv(100)]
            while heard.count(b"WATCHDOG=1") < 3 or b"READY=1" not in heard:
                heard.append(hearing.recv(100))
            process.terminate()
            while heard[-1] != b"STOPPING=1":
                heard.append(hearing.recv(100))
            read_until(process, "stopped")
            assert process.wait(30) == 0

    assert heard[0] == b"WATCHDOG=1"
    assert heard.count(b"READY=1") == 1


@pytest.mark.ci
def test_a_node_that_cannot_start_says_why_without_a_traceback(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    path.write_text(path.read_text().replace('name = "n1"', 'name = "n9"'))
    with serving(path) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(30) == ExitCode.CONFIGURATION

    assert "error: n9 is not among the initial members n1" in said
    assert "Traceback" not in said


@pytest.mark.ci
def test_a_node_whose_disk_damages_everything_gives_up_its_directory_only_so_often(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = nodes.files(1)
    lives: list[object] = []

    def damaged(*_: object) -> bool:
        lives.append(_)
        return False

    monkeypatch.setattr("quorate.node.process._lived", damaged)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)

    with pytest.raises(NodeEndedError, match="replace the disk of"):
        run(load(path, {}, {}), build([]), {})

    assert len(lives) == MOST_GIVEN_UP


def test_a_node_whose_release_is_too_old_ends_with_a_code_of_its_own(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [path] = nodes.files(1)

    async def live(*_: object) -> None:
        raise ReleaseTooOldError("quorate 0.1 is too old")

    monkeypatch.setattr("quorate.observe.logs.configure", lambda *_, **__: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    monkeypatch.setattr("quorate.node.process._live", live)
    assert main(["serve", "--config", str(path)]) == int(ExitCode.OUTDATED) == 7
    assert capfd.readouterr().err == "error: quorate 0.1 is too old\n"
    unit = Path(__file__).parents[3] / "deploy" / "systemd" / "quorate.service"
    [never] = re.findall(r"^RestartPreventExitStatus=(.+)$", unit.read_text(), re.MULTILINE)
    assert {"3", "4", "6", "7"} <= set(never.split())


def test_a_node_that_was_removed_ends_with_one_line_and_a_code_of_its_own(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [path] = nodes.files(1)
    members = Membership(7, Configuration.of([Member(Peer("n2", 2))]))

    async def live(*_: object) -> None:
        raise RemovedError(METADATA, Peer("n1", 1), members)

    # What a process does to itself is not for this one.
    monkeypatch.setattr("quorate.observe.logs.configure", lambda *_, **__: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    monkeypatch.setattr("quorate.node.process._live", live)
    assert main(["serve", "--config", str(path)]) == int(ExitCode.REMOVED) == 6
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("error: n1#")
    assert "was removed from shard metadata/0: since index 7 its members are n2#" in line
    assert line.endswith("add it with `quorate member add`")


@pytest.mark.ci
def test_each_event_is_an_object_of_json_on_demand(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    with serving(path, "--log-format", "json") as process:
        lines = read_until(process, "5/5 ready")
        process.send_signal(signal.SIGTERM)
        lines += read_until(process, "stopped")
        assert process.wait(30) == 0

    told = [json.loads(line) for line in lines]
    assert {each["node"] for each in told} == {"n1"}
    assert any(each["message"].startswith("5/5 ready") for each in told)


@pytest.mark.ci
def test_what_weighs_less_than_the_level_is_not_logged(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    with serving(path, "--log-level", "error") as process:
        http = load(path, {}, {}).node.http_port
        wait_until_ready(http)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(30) == 0


def wait_until_ready(http: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{http}/readyz", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    raise AssertionError("the node did not become ready")


def test_a_restore_that_is_killed_before_it_read_leaves_no_directory_to_start_in(
    tmp_path: Path,
) -> None:
    path, slow, home = tmp_path / "n1.toml", tmp_path / "backup", tmp_path / "n1"
    port, http_port, peer_port = free_ports(0, 1, 2)
    path.write_text(
        f'[node]\nname = "n1"\ndir = "{home}"\n'
        f"port = {port}\nhttp_port = {http_port}\npeer_port = {peer_port}\n"
    )
    slow.mkdir()
    # Nobody writes to it: the restore waits for the first byte of the manifest.
    os.mkfifo(slow / "backup.json")
    with restoring(path, slow) as restore:
        until(lambda: unfinished(home).exists() or None)
        restore.kill()
    with serving(path) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(30) == ExitCode.CONFIGURATION
    assert "a restore into" in said


@contextmanager
def restoring(path: Path, source: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "quorate.cli", "--config", str(path), "restore", str(source)]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()
