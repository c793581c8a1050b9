"""The pages on the client: their examples run against a cluster, their tables are the code's."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import quorate.client
from quorate.client import AsyncClient, ChangeKind, Client, QuorateError, connect, errors
from quorate.client.brokers import Brokers
from quorate.client.kv import Kv
from quorate.client.node_queues import CALLS, MOST_BYTES, MOST_COMMANDS
from quorate.client.sessions import TTL_MS, WINDOW
from quorate.client.topology import DEFAULT, VARIABLE
from quorate.testing.cluster import Cluster

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "client.md"
HOW_TO = ROOT / "docs" / "how-to" / "exactly-once-writes.md"
SCRIPT = ROOT / "examples" / "ten_lines.py"
TEXT = PAGE.read_text(encoding="utf-8")
_HEARD = "signal.signal(signal.SIGINT, signal.default_int_handler)"
#: It does not matter where lines end.
PROSE = " ".join(TEXT.split())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("client"), nodes=3) as cluster:
        yield cluster.ready()


def example(page: Path, number: int) -> dict[str, Any]:
    """Run a block of Python of a page, and return what it defines."""
    blocks = re.findall(
        r"^```python\n(.+?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    scope: dict[str, Any] = {}
    exec(compile(blocks[number], str(page), "exec"), scope)
    return scope


async def test_the_first_example_takes_a_job(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        assert await example(PAGE, 0)["main"](cluster.endpoints) == [(b"jobs/1", b"taken")]


def test_the_second_example_needs_no_await(cluster: Cluster) -> None:
    assert example(PAGE, 1)["main"](cluster.endpoints) == b"open"


async def test_a_broker_serves_while_it_is_registered(cluster: Cluster) -> None:
    async def work(epoch: int) -> None:
        async with connect(cluster.endpoints) as q:
            broker = await q.brokers.get("broker-1")
        assert broker is not None
        assert broker.epoch == epoch

    await example(PAGE, 2)["serve"](cluster.endpoints, work)
    async with connect(cluster.endpoints) as q:
        assert await q.brokers.get("broker-1") is None


async def test_a_cache_follows_the_pairs(cluster: Cluster) -> None:
    cache: dict[bytes, bytes] = {}
    async with connect(cluster.endpoints) as q:
        await q.kv.put("watched/a", b"1")
        changes = example(PAGE, 3)["follow"](cluster.endpoints, "watched/", cache)
        async with asyncio.timeout(60), aclosing(changes):
            async for change in changes:
                if change.kind is ChangeKind.ROW:
                    await q.kv.put("watched/b", b"2")
                    await q.kv.delete("watched/a")
                if change.kind is ChangeKind.DELETED:
                    break
    assert cache == {b"watched/b": b"2"}


async def test_writing_without_doubt(cluster: Cluster) -> None:
    assert await example(HOW_TO, 0)["main"](cluster.endpoints) == b"2"
    take = example(HOW_TO, 1)["take"]
    assert await take(cluster.endpoints, "lock", b"worker 1")
    assert not await take(cluster.endpoints, "lock", b"worker 2")


def test_ten_lines_are_enough(cluster: Cluster) -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert DEFAULT in text
    here = text.replace(DEFAULT, cluster.endpoints)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        # What a shell runs in the background ignores Ctrl-C, and so would this.
        [sys.executable, "-c", f"import signal\n{_HEARD}\n{here}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as script:
        try:
            assert script.stdout is not None
            row, event = script.stdout.readline(), script.stdout.readline()
            script.send_signal(signal.SIGINT)
            _, error = script.communicate(timeout=60)
        finally:
            script.kill()
    assert (script.returncode, error) == (0, "")
    assert "value=b'hello'" in row
    assert event == "row b'greeting' b'hello'\n"


def test_every_error_is_told() -> None:
    told = re.findall(r"^\| `(\w+Error)` \|", TEXT, re.MULTILINE)
    classes = inspect.getmembers(errors, inspect.isclass)
    named = [name for name, kind in classes if issubclass(kind, QuorateError)]
    assert sorted([*told, "QuorateError"]) == sorted(named)
    assert {*told, "QuorateError"} <= set(quorate.client.__all__)


def test_every_kind_of_change_is_told() -> None:
    told = re.findall(r"`([A-Z]+)`", TEXT[TEXT.index("| Kind |") : TEXT.index("A change has")])
    assert set(told) == {kind.name for kind in ChangeKind}


def test_every_method_is_told_and_has_a_twin() -> None:
    told = set(re.findall(r"^\| `q\.(\w+)\(", TEXT, re.MULTILINE))
    assert told == {name for name in vars(AsyncClient) if not name.startswith("_")}
    for helper, attribute in ((Kv, "kv"), (Brokers, "brokers")):
        [line] = [each for each in TEXT.split("\n\n") if each.startswith(f"`q.{attribute}` has")]
        methods = {name for name in vars(helper) if not name.startswith("_")}
        assert {name for name in methods if f"`{name}`" in line} == methods
    with Client("127.0.0.1:1") as q:
        assert {name for name in vars(Kv) if not name.startswith("_")} <= set(dir(q.kv))
        assert {name for name in vars(Brokers) if not name.startswith("_")} <= set(dir(q.brokers))
        assert told <= set(dir(q))


def test_the_numbers_are_those_that_are_told() -> None:
    assert f"up to {MOST_COMMANDS:,} commands or {MOST_BYTES >> 20} MiB" in PROSE
    assert CALLS == 3
    assert f"no more than {WINDOW:,} commands" in PROSE
    assert TTL_MS == 60_000
    assert "(after a minute without any use)" in PROSE
    assert f"`{VARIABLE}`, else `{DEFAULT}`" in PROSE
    timeout_s = inspect.signature(connect).parameters["timeout_s"].default
    assert f"timeout_s={timeout_s}" in PROSE
