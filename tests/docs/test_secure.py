"""The page on security: three nodes by its files and commands, clients each way, users, roles."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "secure.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ quorate (.+)$", PAGE, re.MULTILINE)
QUORATE = (sys.executable, "-m", "quorate.cli")
NODES = ("q1", "q2", "q3")

pytestmark = pytest.mark.ci


def block(kind: str, holding: str = "") -> str:
    found = re.findall(rf"^```{kind}\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    wanted, *_ = [each for each in found if holding in each]
    return str(wanted)


def variables(holding: str) -> dict[str, str]:
    """Return what a block exports."""
    return dict(re.findall(r"^export (\w+)=(.+)$", block("sh", holding), re.MULTILINE))


class Trial:
    """What a reader has typed, with every address on loopback."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        first = free_ports(0, 1, 2, 100, 101, 102)[0]
        self.ports = dict(zip(NODES, range(first, first + 3), strict=True))
        self.endpoints = ",".join(f"127.0.0.1:{port}" for port in self.ports.values())
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
        self.environment["QUORATE_ENDPOINTS"] = self.endpoints
        self.programs = {node: Program(node, directory / f"{node}.out") for node in NODES}

    def run(self, command: str, **more: str) -> str:
        done = subprocess.run(
            [*QUORATE, *shlex.split(re.sub(r"192\.0\.2\.\d", "127.0.0.1", command))],
            cwd=self.directory,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, node: str) -> None:
        text = block("toml").replace('name = "q1"', f'name = "{node}"')
        text = text.replace("quorate-certs/q1", f"quorate-certs/{node}")
        for each, port in self.ports.items():
            text = text.replace(f"192.0.2.{each[1:]}:7401", f"127.0.0.1:{port}")
        text = text.replace(
            'host = "192.0.2.1"',
            f'host = "127.0.0.1"\nport = {self.ports[node]}\ndir = "{node}"',
        )
        for file in ("cert_file", "key_file", "ca_file"):
            text = text.replace(f'{file} = "', f'{file} = "{self.directory}/')
        config = self.directory / f"{node}.toml"
        config.write_text(text.replace(f'dir = "{node}"', f'dir = "{self.directory / node}"'))
        self.programs[node].start((*QUORATE, "--config", str(config), "serve"), self.environment)


def _said(program: Program, what: str) -> bool | None:
    return what in program.said or None


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    trial = Trial(tmp_path_factory.mktemp("secure"))
    for command in COMMANDS[:5]:
        trial.run(command)
    with ExitStack() as stack:
        for node, program in trial.programs.items():
            stack.callback(program.close)
            trial.start(node)
        for node, program in trial.programs.items():
            until(partial(_said, program, f"ready: node {node}"))
        yield trial


def test_the_page_s_clients_are_served(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trial.directory)
    scope: dict[str, Any] = {}
    exec(block("python"), scope)
    assert scope["main"](trial.endpoints) == b"open"

    [command] = [each for each in COMMANDS if each.endswith("kv get jobs/1")]
    assert trial.run(command) == "open"
    assert trial.run(command[command.index("kv") :], **variables("QUORATE_TLS_CA")) == "open"


def test_users_do_what_their_roles_say(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trial.directory)
    [enable] = [each for each in COMMANDS if "auth enable" in each]
    # It goes where the page says that it is read from.
    assert trial.run(enable) == ""
    token = variables("QUORATE_TOKEN_FILE")
    assert (trial.directory / token["QUORATE_TOKEN_FILE"]).stat().st_mode & 0o777 == 0o600
    known = variables("QUORATE_TLS_CA")
    for command in COMMANDS:
        if command.startswith("auth "):
            trial.run(command, **known, **token)
    [status] = json.loads(trial.run("auth status --output json", **known, **token))
    assert (status["caller"], status["right"], status["domain"]) == ("ada", "admin", "*")

    # The client of the page has the certificate of loader, and no token.
    scope: dict[str, Any] = {}
    exec(block("python"), scope)
    assert scope["main"](trial.endpoints) == b"open"
    with pytest.raises(AssertionError, match="loader needs write on kv at b'other'"):
        trial.run("kv put other open", **known)
    with pytest.raises(AssertionError, match="loader needs read on auth"):
        trial.run("auth users list", **known)


def test_a_certificate_is_replaced_while_its_node_runs(trial: Trial) -> None:
    replaced = "the certificates of q1 were replaced"
    assert f"`{replaced}`" in PAGE
    program = trial.programs["q1"]
    trial.run(COMMANDS[-1])
    until(partial(_said, program, replaced))
