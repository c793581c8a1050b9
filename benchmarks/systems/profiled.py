"""`quorate serve` that profiles its loop between SIGUSR1 and SIGUSR2, and then writes what it saw.

python benchmarks/systems/profiled.py OUTPUT serve --config FILE
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import signal
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from quorate.cli.main import main
from quorate.testing.program import end_with_parent

_SAMPLE_S: Final = 0.05
_OURS: Final = "quorate"
#: Functions without a file that are no work: they wait.
_WAITING: Final = ("run_until_complete", "acquire", "wait")


class Profiler:
    """Profiles the thread of the loop by its own processor time: what else runs does not count."""

    def __init__(self, output: Path) -> None:
        self._output: Final = output
        self._tasks = 0
        self._blocks: list[int] = []
        self._profile = cProfile.Profile(time.thread_time)
        self._sampling: asyncio.TimerHandle | None = None
        self._began = self._rest = 0.0

    def begin(self, *_: object) -> None:
        """Begin, while nothing is asked of the node."""
        loop = asyncio.get_running_loop()
        self._tasks, self._blocks = 0, [sys.getallocatedblocks()]
        loop.set_task_factory(self._made)
        self._sample(loop)
        self._profile = cProfile.Profile(time.thread_time)
        self._began = time.thread_time()
        self._profile.enable()

    def end(self, *_: object) -> None:
        """End, when all was answered; the file is whole when it is there."""
        self._profile.disable()
        took = time.thread_time() - self._began
        asyncio.get_running_loop().set_task_factory(None)
        if self._sampling is not None:
            self._sampling.cancel()
        first, *loaded = self._blocks
        rest = (first + sys.getallocatedblocks()) / 2
        stages, functions, calls = _stages(self._profile)
        stages["the loop, gRPC and what else is C"] = max(0.0, took - sum(stages.values()))
        found = {
            "seconds": took,
            "calls": calls,
            "tasks": self._tasks,
            "blocks": max(0.0, statistics.median(loaded) - rest),
            "stages": stages,
            "functions": functions,
        }
        part = self._output.with_suffix(".part")
        part.write_text(json.dumps(found))
        part.rename(self._output)

    def _made(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> Any:
        self._tasks += 1
        return asyncio.Task(coroutine, loop=loop, **more)

    def _sample(self, loop: asyncio.AbstractEventLoop) -> None:
        self._blocks.append(sys.getallocatedblocks())
        self._sampling = loop.call_later(_SAMPLE_S, self._sample, loop)


def _stages(
    profile: cProfile.Profile,
) -> tuple[dict[str, float], dict[str, tuple[int, float]], int]:
    """Return the seconds of each stage, each function's calls and seconds, and all calls.

    What is written in C counts as a part of the function that calls it.
    """
    stages: defaultdict[str, float] = defaultdict(float)
    functions: dict[str, tuple[int, float]] = {}
    total = 0
    stats: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, line, name), (_, calls, own_s, _, callers) in stats.items():
        if any(each in name for each in _WAITING) and file == "~":
            continue
        total += calls
        functions[f"{stage(file)}: {Path(file).name}:{line}({name})"] = calls, own_s
        if file != "~":
            stages[stage(file)] += own_s
            continue
        for (caller, _, _), (_, _, within_s, _) in callers.items():
            stages[stage(caller)] += within_s
    return stages, functions, total


def stage(file: str) -> str:
    """Return what a file's time is counted as."""
    if file == "~" or file.startswith("<"):
        return "built in"
    folders = Path(file).parts[:-1]
    if _OURS in folders:
        last = len(folders) - folders[::-1].index(_OURS)
        return "/".join(folders[last:][:2])
    for libraries in ("site-packages", "python3.11"):
        if libraries in folders:
            return [*folders[folders.index(libraries) + 1 :], Path(file).stem][0]
    return next((each for each in folders if each.startswith(f"{_OURS}_")), Path(file).stem)


if __name__ == "__main__":
    end_with_parent()
    profiler = Profiler(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGUSR1, profiler.begin)
    signal.signal(signal.SIGUSR2, profiler.end)
    sys.exit(main())
