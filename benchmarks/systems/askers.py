"""Many processes that ask at once: with one, that is the limit and not the servers."""

from __future__ import annotations

import asyncio
import pickle
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from google.protobuf.message import Message

from systems.closed_loop import channel, closed_loop
from systems.system import Load, Took

PROCESSES: Final = 16
#: Requests that a process repeats in turn; they are made beforehand.
_REQUESTS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    address: str
    method: str
    requests: Sequence[bytes]
    in_flight: int
    seconds: float


def askers(address: str, method: str, requests: Sequence[Message]) -> Load:
    """Return the load of processes that share the calls in flight."""
    written = [each.SerializeToString() for each in requests]

    async def run(in_flight: int, seconds: float) -> Took:
        jobs = [
            _Job(
                address=address,
                method=method,
                requests=_share(written, at),
                in_flight=in_flight // PROCESSES,
                seconds=seconds,
            )
            for at in range(PROCESSES)
        ]
        processes = await asyncio.gather(*map(_started, jobs))
        answers = await asyncio.gather(*map(_asked, processes))
        return Took(
            seconds=max(each.seconds for each in answers),
            latencies_s=[each for answer in answers for each in answer.latencies_s],
            failures=sum(each.failures for each in answers),
            askers_s=sum(each.askers_s for each in answers),
        )

    return Load(run=run)


def _share(of: Sequence[bytes], number: int) -> Sequence[bytes]:
    first = number * _REQUESTS % len(of)
    return of[first : first + _REQUESTS]


async def _started(job: _Job) -> tuple[Process, bytes]:
    """Start a process, and wait until it has connected."""
    benchmarks = Path(__file__).parent.parent
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__), stdin=PIPE, stdout=PIPE, cwd=benchmarks
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(pickle.dumps(job))
    return process, await process.stdout.readexactly(1)


async def _asked(started: tuple[Process, bytes]) -> Took:
    answer, _ = await started[0].communicate(b"\n")
    took: Took = pickle.loads(answer)
    return took


async def _ask(job: _Job) -> Took:
    asked = channel(job.address)
    call = asked.unary_unary(job.method, None, None)
    await asked.channel_ready()
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    await asyncio.to_thread(sys.stdin.buffer.read, 1)
    cpu = time.process_time()
    load = closed_loop(lambda number: call(job.requests[number % len(job.requests)], timeout=30))
    took = await load.run(job.in_flight, job.seconds)
    await asked.close(None)
    return Took(
        seconds=took.seconds,
        latencies_s=took.latencies_s,
        failures=took.failures,
        askers_s=time.process_time() - cpu,
    )


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.stdout.buffer.write(pickle.dumps(runner.run(_ask(pickle.load(sys.stdin.buffer)))))
