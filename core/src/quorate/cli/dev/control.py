"""The control socket of `quorate dev`: a line of JSON with a request, a line with its answer.

The socket is in the directory of the cluster, and only its user may connect. Its path is given
relative to that directory, since the absolute path may be longer than a socket's address can be.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, chdir, closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from quorate.cli.failures import ExitCode, failure

_NAME: Final = "control.sock"
#: The largest request and answer.
_LINE_BYTES: Final = 65_536
#: How long a caller may take to send its request.
_REQUEST_S: Final = 2.0
#: How long a caller waits; longer than an orderly end, and than a start is waited for.
_PATIENCE_S: Final = 120.0


class Request(NamedTuple):
    """What to do with a node."""

    verb: str
    node: str


class Answer(NamedTuple):
    """What was done, or what is wrong and how to mend it."""

    done: bool
    what: str
    fix: str = ""


@asynccontextmanager
async def listening(
    directory: Path, answer: Callable[[Request], Awaitable[Answer]]
) -> AsyncIterator[None]:
    """Answer requests while the context lasts; only the holder of the directory may call this."""
    place = directory / _NAME
    # A `quorate dev` that was killed has left it.
    place.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX)
    with chdir(directory):
        bound.bind(_NAME)
        # Nobody is let in before it listens.
        os.chmod(_NAME, 0o600)

    handling: set[asyncio.Task[None]] = set()

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, TimeoutError):
            writer.write(json.dumps(await _answer(reader, answer)).encode() + b"\n")
            await writer.drain()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(handled(reader, writer))
        handling.add(task)
        task.add_done_callback(handling.discard)

    server = await asyncio.start_unix_server(accepted, sock=bound, limit=_LINE_BYTES)
    try:
        yield
    finally:
        server.close()
        place.unlink(missing_ok=True)
        # What was begun is brought to its end: a process is started and known, or it is not.
        await asyncio.gather(*handling)


async def _answer(
    reader: asyncio.StreamReader, answer: Callable[[Request], Awaitable[Answer]]
) -> Answer:
    try:
        async with asyncio.timeout(_REQUEST_S):
            line = await reader.readline()
        verb, node = json.loads(line)
        return await answer(Request(str(verb), str(node)))
    except (ValueError, TypeError):
        return Answer(False, "the request is not a line with a verb and a node in JSON")


def ask(directory: Path, request: Request) -> str:
    """Have the `quorate dev` of the directory do something, and return what it did."""
    try:
        with socket.socket(socket.AF_UNIX) as connection, chdir(directory):
            connection.settimeout(_PATIENCE_S)
            connection.connect(_NAME)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer = Answer(*json.loads(answers.readline(_LINE_BYTES)))
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise failure(
            f"no `quorate dev` is ready in {directory}",
            "start it there, wait until it says ready, or name its directory with --dir",
            ExitCode.UNAVAILABLE,
        ) from error
    except (OSError, ValueError) as error:
        raise failure(
            f"the `quorate dev` in {directory} ended or did not answer in time",
            "look at its terminal for what it did",
            ExitCode.UNAVAILABLE,
        ) from error
    if not answer.done:
        raise failure(answer.what, answer.fix)
    return answer.what
