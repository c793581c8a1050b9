from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, chdir
from pathlib import Path

import pytest
from quorate.cli.dev.control import Answer, Request, ask, listening
from quorate.cli.failures import ExitCode, Failure


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory whose path is longer than the address of a socket may be."""
    directory = tmp_path / ("long" * 40)
    directory.mkdir()
    return directory


@asynccontextmanager
async def answering(home: Path, answer: Answer) -> AsyncIterator[list[Request]]:
    got: list[Request] = []

    async def answered(request: Request) -> Answer:
        got.append(request)
        return answer

    async with listening(home, answered):
        yield got


async def test_a_request_is_done_and_said(home: Path) -> None:
    async with answering(home, Answer(True, "node1 was killed")) as got:
        said = await asyncio.to_thread(ask, home, Request("kill", "node1"))

    assert (said, got) == ("node1 was killed", [Request("kill", "node1")])


async def test_a_refusal_is_a_failure_with_its_fix(home: Path) -> None:
    async with answering(home, Answer(False, "no such node", "name one of node1")):
        with pytest.raises(Failure, match="no such node; name one of node1"):
            await asyncio.to_thread(ask, home, Request("kill", "node9"))


async def test_only_the_user_may_connect_and_nothing_is_left(home: Path) -> None:
    # A `quorate dev` that was killed has left this one.
    (home / "control.sock").write_text("")
    async with answering(home, Answer(True, "done")):
        mode = (home / "control.sock").stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600

    assert list(home.iterdir()) == []


@pytest.mark.parametrize("line", [b"", b"[]\n", b"{}\n", b"7\n", b"\xff\n", b"x" * 70_000 + b"\n"])
async def test_what_is_no_request_is_refused(home: Path, line: bytes) -> None:
    async with answering(home, Answer(True, "done")) as got:
        with chdir(home):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect("control.sock")
        with connection, connection.makefile("rb") as answers:
            await asyncio.to_thread(connection.sendall, line)
            connection.shutdown(socket.SHUT_WR)
            done, what, _ = json.loads(await asyncio.to_thread(answers.readline))

    assert (done, got) == (False, [])
    assert what == "the request is not a line with a verb and a node in JSON"


async def test_what_is_asked_for_is_finished_before_it_ends(home: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: Request) -> Answer:
        begun.set()
        await go_on.wait()
        return Answer(True, "done")

    async def serve() -> None:
        async with listening(home, answer):
            await begun.wait()

    serving = asyncio.create_task(serve())
    while not (home / "control.sock").exists():
        await asyncio.sleep(0)
    asking = asyncio.create_task(asyncio.to_thread(ask, home, Request("stop", "node1")))
    await begun.wait()
    await asyncio.sleep(0)
    assert not serving.done()
    go_on.set()
    await serving

    assert await asking == "done"


@pytest.mark.parametrize("left", [True, False])
def test_without_a_quorate_dev_it_says_so(home: Path, left: bool) -> None:
    if left:
        with chdir(home), socket.socket(socket.AF_UNIX) as dead:
            dead.bind("control.sock")

    with pytest.raises(Failure, match="no `quorate dev` is ready in") as failed:
        ask(home, Request("kill", "node1"))
    assert failed.value.exit_code is ExitCode.UNAVAILABLE
