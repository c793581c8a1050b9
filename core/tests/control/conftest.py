"""One node on virtual time, and shards as far as controllers and timers see them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.apply.deadlines import Deadline
from quorate.plugin import ShardRef
from quorate.plugin.shard_id import ShardId

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World


class Stage:
    """Runs what is tested as the loop of a node would."""

    def __init__(self) -> None:
        self.world = World(1)
        self.loop = VirtualLoop(self.world, Clock(self.world))  # type: ignore[abstract]

    def run(self, act: Callable[[], Any]) -> None:
        self.loop.run(act)

    def pass_time(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def finish(self, work: Coroutine[Any, Any, Any]) -> None:
        done: list[asyncio.Task[Any]] = []
        self.run(lambda: done.append(self.loop.create_task(work)))
        self.pass_time(1.0)
        done[0].result()


class Shard:
    """A shard whose deadlines are set by hand; logical time goes with the loop's."""

    def __init__(self, stage: Stage, name: str = "toy/0") -> None:
        self.stage = stage
        self.id = ShardId.parse(name)
        self.leads = True
        #: Whether it rests when nothing was applied for a while.
        self.rests = False
        self.changed_at = stage.world.now
        self.term = 1
        self.applied = 0
        self.leapt_ms = 0
        self.deadlines: dict[tuple[str, bytes], Deadline] = {}

    def now_ms(self) -> int:
        return round(self.stage.world.now * 1_000) + self.leapt_ms

    def set(self, timer: str, key: bytes, at_ms: int, ttl_ms: int | None = None) -> None:
        self.deadlines[timer, key] = Deadline(at_ms, ttl_ms)
        self.applied += 1
        self.changed_at = self.stage.world.now

    @property
    def resting(self) -> bool:
        return self.rests and self.stage.world.now - self.changed_at > 0.15

    def due(self, timer: str, now_ms: int, limit: int) -> list[tuple[bytes, int]]:
        found = [
            (each.at_ms, key)
            for (name, key), each in self.deadlines.items()
            if name == timer and each.at_ms <= now_ms
        ]
        return [(key, at_ms) for at_ms, key in sorted(found)[:limit]]

    def next_due(self, timer: str) -> int | None:
        found = [each.at_ms for (name, _), each in self.deadlines.items() if name == timer]
        return min(found, default=None)

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        return self.deadlines.get((timer, key))


class Leading:
    """The shards of a node that lead: the same object until any of that changes."""

    def __init__(self, *shards: Shard) -> None:
        self._shards = shards
        self._known: list[tuple[bool, int]] = []
        self._led: list[Any] = []

    def __call__(self) -> list[Any]:
        now = [(shard.leads, shard.term) for shard in self._shards]
        if now != self._known:
            self._known, self._led = now, [shard for shard in self._shards if shard.leads]
        return self._led


class Log:
    """Takes what is proposed, and plays the handler."""

    def __init__(self) -> None:
        self.proposed: list[tuple[float, Message, ShardRef]] = []
        self.apply: Callable[[Message, ShardRef], None] = lambda *_: None
        self.failures: list[Exception] = []
        self.takes_s = 0.0
        self.stage: Stage | None = None

    async def propose(self, message: Message, ref: ShardRef) -> None:
        assert self.stage is not None
        self.proposed.append((self.stage.world.now, message, ref))
        if self.failures:
            raise self.failures.pop(0)
        await asyncio.sleep(self.takes_s)
        self.apply(message, ref)


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.loop.dispose()


@pytest.fixture
def new_shard(stage: Stage) -> Callable[..., Shard]:
    return lambda name="toy/0": Shard(stage, name)


@pytest.fixture
def leading() -> type[Leading]:
    return Leading


@pytest.fixture
def log(stage: Stage) -> Log:
    made = Log()
    made.stage = stage
    return made
