"""`quorate lock`, `quorate election` and `quorate lease`, in processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quorate.client import Client, RejectedError
from quorate.plugin import Fence
from quorate.testing import Cli
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate_coordination import cli
from quorate_coordination.client import SyncCoordination

_QUORATE = "import sys; from quorate.cli.main import main; sys.exit(main())"
#: Says that it runs, and does until it is ended; then it says that. It does not pause for a signal:
#: one that comes right before would be waited for in vain. Its handler does not print, as a signal
#: that comes while the first line is printed finds the stream locked.
_SLEEPER = """
import os, signal, sys, time
def end(*_):
    os.write(1, b"ended\\n")
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
print(os.environ["QUORATE_LOCK"], os.environ["QUORATE_TOKEN"], flush=True)
while True:
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path: Path = tmp_path_factory.mktemp("coordination")
    with Cluster(path, nodes=1, plugins=["coordination"]) as cluster:
        yield cluster.ready()


@pytest.fixture
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        yield q


@contextmanager
def locked(
    cluster: Cluster, *options: str, command: Sequence[str]
) -> Iterator[subprocess.Popen[str]]:
    """A process of `quorate lock run`, with a group of its own: its command goes with it."""
    process = subprocess.Popen(
        [sys.executable, "-c", _QUORATE, "lock", "run", *options, "--", *command],
        env={**os.environ, "QUORATE_ENDPOINTS": cluster.endpoints},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_command_runs_under_its_lock(cluster: Cluster, q: Client) -> None:
    script = "import os, sys; print(os.environ['QUORATE_TOKEN']); sys.exit(3)"
    with locked(cluster, "jobs/nightly", command=[sys.executable, "-c", script]) as ran:
        out, _ = ran.communicate(timeout=60)

    assert int(out) > 0
    assert ran.returncode == 3
    assert list(SyncCoordination(q).locks.list()) == []


def test_a_command_ends_when_its_lock_is_lost(cluster: Cluster, q: Client) -> None:
    with locked(cluster, "jobs/a", "--ttl", "1", command=[sys.executable, "-c", _SLEEPER]) as ran:
        name, token = said(ran).split()
        coordination = SyncCoordination(q)
        [claim] = coordination.claims.list(lock="jobs/a")
        assert (name, token) == ("jobs/a", str(claim.token))
        with Cli(q) as shell:
            assert shell.run("lease", "delete", claim.lease).exit_code == 0

        # An eighth of a second after it was asked to end it is killed.
        assert said(ran) in ("ended", "")
        _, err = ran.communicate(timeout=60)
    assert ran.returncode == 1
    assert "lock jobs/a is lost" in err


def test_a_command_ends_with_who_runs_it(cluster: Cluster, q: Client) -> None:
    # It has an eighth of that to end by itself, and takes its time.
    slow = _SLEEPER.replace("os.write(", "time.sleep(1); os.write(")
    with locked(cluster, "jobs/b", "--ttl", "300", command=[sys.executable, "-c", slow]) as ran:
        assert said(ran).startswith("jobs/b ")
        ran.send_signal(signal.SIGTERM)

        assert said(ran) == "ended"
        ran.communicate(timeout=60)
    assert ran.returncode == 128 + signal.SIGTERM
    until(lambda: not list(SyncCoordination(q).locks.list(prefix="jobs/b")) or None)


async def test_a_command_that_is_just_starting_is_asked_to_end(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    started = asyncio.create_subprocess_exec
    running = asyncio.Event()

    async def start_slowly(*arguments: str, **more: Any) -> asyncio.subprocess.Process:
        process = await started(*arguments, stdout=asyncio.subprocess.PIPE, **more)
        assert process.stdout is not None
        await process.stdout.readline()
        running.set()
        await asyncio.sleep(0)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_slowly)
    held: Any = SimpleNamespace(name="jobs/f", token=1)
    script = _SLEEPER.replace("os.write(1", "os.write(2")
    working = asyncio.create_task(cli._carry_out(held, [sys.executable, "-c", script], 20))
    await running.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working

    assert capfd.readouterr().err == "ended\n"


def test_who_would_wait_too_long_does_not_run(cluster: Cluster, q: Client) -> None:
    with (
        SyncCoordination(q).lock("jobs/c", owner="me"),
        locked(cluster, "jobs/c", "--wait", "0", command=["true"]) as ran,
    ):
        _, err = ran.communicate(timeout=60)

    assert ran.returncode == 1
    assert "jobs/c is held by me" in err


def test_what_cannot_be_started_says_so(cluster: Cluster) -> None:
    with locked(cluster, "jobs/d", command=["no-such-command"]) as ran:
        _, err = ran.communicate(timeout=60)

    assert ran.returncode == 1
    assert "no-such-command: No such file or directory" in err


def test_locks_claims_leaders_and_leases_are_shown(q: Client) -> None:
    coordination = SyncCoordination(q)
    with Cli(q) as shell, coordination.election("lead").campaign(value=b"here", owner="me") as held:
        [shown] = shell.run("lock", "list", "lead").rows
        assert (shown["name"], shown["owner"], shown["token"]) == ("lead", "me", held.token)
        [claim] = shell.run("lock", "get", "lead").rows
        assert (claim["token"], claim["created_at"] != "") == (held.token, True)
        [leader] = shell.run("election", "get", "lead").rows
        assert leader == {"token": held.token, "owner": "me", "value": b"here"}
        [lease] = shell.run("lease", "list", "lead/").rows
        assert (lease["name"], lease["holds"]) == (claim["lease"], 1)
    with Cli(q) as shell:
        assert shell.run("election", "get", "lead").rows == []
        assert shell.run("lease", "delete", "lead/gone").error.startswith("NOT_FOUND")


def test_tokens_that_shut_out_others_are_forgotten(q: Client) -> None:
    claimed, rightful = Fence(b"own/reset", 1 << 60), Fence(b"own/reset", 5)
    q.kv.put("jobs/reset", b"", fence=claimed)
    with pytest.raises(RejectedError, match="FENCED"):
        q.kv.put("jobs/reset", b"", fence=rightful)

    with Cli(q) as shell, q.lock("jobs/reset") as held:
        assert shell.run("lock", "reset", "own/reset", "--fence").exit_code == 0
        assert shell.run("lock", "reset", "jobs/reset").exit_code == 0
        q.kv.put("jobs/reset", b"", fence=rightful)
        q.kv.put("jobs/reset", b"", fence=held)
