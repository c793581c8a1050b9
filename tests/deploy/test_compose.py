"""The nodes of compose.yaml as processes of this machine, by the same files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml
from quorate.client import Client, OutcomeUnknownError, Tls
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

DOCKER = Path(__file__).parents[2] / "deploy" / "docker"
QUORATE = (sys.executable, "-m", "quorate.cli")
NODES = ("q1", "q2", "q3")

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]


class Composed:
    """Three nodes, every host of which is loopback."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.services = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
        first = free_ports(0, 1, 2, 100, 101, 102)[0]
        self.ports = dict(zip(NODES, range(first, first + 3), strict=True))
        self.programs = {node: Program(node, directory / f"{node}.out") for node in NODES}
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}

    @property
    def certificates(self) -> Path:
        return self.directory / "certs"

    def here(self, text: str) -> str:
        text = re.sub(r"--host q\d", "--host 127.0.0.1", text)
        return text.replace("/certs", str(self.certificates))

    def certify(self) -> None:
        [script] = self.services["certs"]["command"]
        for line in self.here(script).splitlines():
            program, *arguments = shlex.split(line)
            if program == "quorate":
                subprocess.run([*QUORATE, *arguments], env=self.clean, check=True)

    def quorate(self, *words: str) -> str:
        """Run a command as an operator does, on a machine that reaches the nodes."""
        whom = ("--tls-ca", str(self.certificates / "ca.pem"))
        environment = {**self.clean, "QUORATE_ENDPOINTS": self.endpoints}
        done = subprocess.run(
            [*QUORATE, *whom, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def endpoints(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def restore(self, node: str, backup: Path) -> None:
        """What `docker compose run --rm NODE restore BACKUP` does."""
        command = [*QUORATE, "restore", str(backup)]
        subprocess.run(command, env=self.environment(node), check=True)

    def start(self, node: str, *, joins: bool = False) -> None:
        self.programs[node].start((*QUORATE, "serve"), self.environment(node, joins=joins))
        if joins:
            # It is added once it listens.
            until(lambda: listens(self.ports[node]) or None)

    def environment(self, node: str, *, joins: bool = False) -> dict[str, str]:
        """Write the node's file, and return its environment."""
        text = self.here((DOCKER / "quorate.toml").read_text())
        if joins:
            text = text.replace("[cluster.initial_members]", "[cluster.join]")
        for each, port in self.ports.items():
            text = text.replace(f'"{each}:7401"', f'"127.0.0.1:{port}"')
        text = re.sub(r"^(port|http_port|peer_port) = .+\n", "", text, flags=re.MULTILINE)
        config = self.directory / f"{node}.toml"
        config.write_text(text)
        given = {k: self.here(v) for k, v in self.services[node]["environment"].items()}
        assert (given["QUORATE__NODE__NAME"], given["QUORATE__NODE__HOST"]) == (node, node)
        given |= {
            "QUORATE__NODE__HOST": "127.0.0.1",
            "QUORATE__NODE__PORT": str(self.ports[node]),
            "QUORATE__NODE__DIR": str(self.directory / node),
            "QUORATE_CONFIG": str(config),
        }
        return self.clean | given

    def client(self) -> Client:
        return Client(self.endpoints, tls=Tls(ca=self.certificates / "ca.pem"))

    def ready(self, node: str, times: int = 1) -> None:
        said = f"ready: node {node} "
        until(lambda: self.programs[node].said.count(said) == times or None)


def listens(port: int) -> bool:
    """Return whether somebody accepts connections at a port."""
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def put(q: Client, key: str, value: bytes = b"") -> None:
    """Write a pair; again when a leader that loses its majority cannot tell what became of it."""
    while True:
        with suppress(OutcomeUnknownError):
            q.kv.put(key, value)
            return


@pytest.fixture
def composed(tmp_path: Path) -> Iterator[Composed]:
    composed = Composed(tmp_path)
    composed.certify()
    with ExitStack() as stack:
        for node, program in composed.programs.items():
            stack.callback(program.close)
            composed.start(node)
        for node in NODES:
            composed.ready(node)
        yield composed


def test_nodes_are_killed_and_replaced_while_clients_write(composed: Composed) -> None:
    with composed.client() as q:
        for turn, node in enumerate(NODES):
            put(q, f"turn/{turn}", node.encode())
            composed.programs[node].end(signal.SIGKILL)
            put(q, f"without/{turn}", node.encode())
            composed.start(node)
            composed.ready(node, 2)
        # As an orchestrator does it for a new image: one after the other, each asked to end.
        for node in NODES:
            assert composed.programs[node].end(signal.SIGTERM) == 0
            put(q, f"new/{node}")
            composed.start(node)
            composed.ready(node, 3)
        found = {each.key for each in q.kv.list(b"")}
    assert "in force" in composed.quorate("upgrade", "check")
    assert {b"turn/0", b"without/2", b"new/q3"} <= found
    assert len(found) == 9


def test_a_cluster_that_lost_all_of_its_disks_is_restored(composed: Composed) -> None:
    backup = composed.directory / "backup"
    with composed.client() as q:
        put(q, "before/backup", b"kept")
        composed.quorate("backup", str(backup))
        put(q, "after/backup")
    for node in NODES:
        composed.programs[node].end(signal.SIGKILL)
        shutil.rmtree(composed.directory / node)

    first, *others = NODES
    composed.restore(first, backup)
    composed.start(first)
    composed.ready(first, 2)
    for node in others:
        composed.start(node, joins=True)
        composed.quorate("member", "add", node, f"127.0.0.1:{composed.ports[node]}")
        composed.ready(node, 2)
    composed.programs[first].end(signal.SIGKILL)
    with composed.client() as q:
        put(q, "after/restore")
        found = {each.key for each in q.kv.list(b"")}
    assert found == {b"before/backup", b"after/restore"}
