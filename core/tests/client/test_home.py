"""A client works in the process that made it and in one event loop, and says so elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from quorate.client import AsyncClient, Client, ClosedError, UnavailableError, connect
from quorate.testing.ports import free_ports
from quorate.testing.waiting import PATIENCE_S

#: The child calls a client of its parent, closes it, and makes one of its own.
FORKED = """
import os, sys
from quorate.client import Client, ClosedError, UnavailableError

q = Client(sys.argv[1], timeout_s=0.5)
try:
    q.kv.get("k")
except UnavailableError:
    pass
child = os.fork()
if child:
    os.waitpid(child, 0)
    sys.exit()
for call in (lambda: q.kv.get("k"), lambda: next(q.kv.list(""))):
    try:
        call()
    except ClosedError as error:
        print(error)
q.close()
with Client(sys.argv[1], timeout_s=0.5) as made:
    try:
        made.kv.get("k")
    except UnavailableError as error:
        print(error)
os._exit(0)
"""


@pytest.fixture
def nobody() -> str:
    [port] = free_ports(0)
    return f"127.0.0.1:{port}"


@pytest.mark.ci
def test_a_fork_does_not_wait_for_what_stayed_with_its_parent(nobody: str) -> None:
    script = FORKED.replace("print(error)", "os.write(1, f'{error}\\n'.encode())")
    ran = subprocess.run(
        [sys.executable, "-c", script, nobody],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )

    called, listed, made = ran.stdout.splitlines()
    for told in (called, listed):
        assert told.startswith("the client was made in process ")
        assert "make a client in each process" in told
    # One that the child makes asks.
    assert "does not answer (the connection was refused)" in made


def test_a_client_of_another_process_fails_at_once(
    nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = connect(nobody)
    with Client(nobody) as client, monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: 1)
        with pytest.raises(ClosedError, match="was forked from it"):
            client.kv.get("k")
        with pytest.raises(ClosedError, match="was forked from it"):
            asyncio.run(get(q))


def test_a_client_does_not_outlive_its_event_loop(nobody: str) -> None:
    q = connect(nobody, timeout_s=0.2)
    with pytest.raises(UnavailableError):
        asyncio.run(get(q))

    with pytest.raises(ClosedError, match="loop that the client was first used in has ended"):
        asyncio.run(get(q))
    asyncio.run(q.close())


async def test_a_client_is_not_shared_by_two_loops(nobody: str) -> None:
    q = connect(nobody, timeout_s=0.2)
    with pytest.raises(UnavailableError):
        await get(q)

    with pytest.raises(ClosedError, match="is a different one"):
        await asyncio.to_thread(asyncio.run, get(q))
    await q.close()


async def get(q: AsyncClient) -> None:
    await q.kv.get("k")
