"""Runs the declared controllers on the shards that this node leads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, cast

from google.protobuf.message import Message

from quorate.control.failures import Backoff, level_of, sentence_of
from quorate.plugin import Controller, Fence, NodeApi, ShardRef
from quorate.plugin.advanced import SessionRef
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Background, end, every, pause

R = TypeVar("R", bound=Message)

_log = logging.getLogger(__name__)

#: Interval of the check for leadership and term; the fence takes effect at once.
TICK_S: Final = 0.1
#: Minimum pause between two runs of a controller.
_BREATH_S: Final = 0.05
#: Runs for this many shards that begin together, as after a start, are spread over half of their
#: interval from the second run on: a thousand in a row would stop the node for a while.
_APART: Final = 64
#: A change wakes this many at once, and the others after pauses: a run takes half a millisecond.
_TOGETHER: Final = 8
_BETWEEN_S: Final = 0.02
#: Delay before a family is watched again after a failure.
_REWATCH_S: Final = 1.0

#: Yields once when it begins, and after each change of a family's rows, wherever its shards are.
#: A cancelled wait closes it.
Changes = Callable[[str], AsyncIterator[object]]
#: Removes a gauge by its name and labels, because nothing updates it any more.
Withdraw = Callable[[str, Mapping[str, str]], None]

State = Literal["running", "waiting", "failing", "paused", "stopping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerStatus:
    """The status of a controller for a shard that this node leads."""

    name: str
    shard: ShardId
    term: int
    state: State
    #: Completed runs in this term.
    runs: int
    #: Failures in a row, and the last one.
    failures: int
    error: str | None
    #: The last progress that the controller reported.
    progress: str = ""


@dataclass(slots=True, eq=False)
class ControllerCounters:
    """Counts a controller's runs on this node over all terms and shards."""

    #: Completed runs.
    runs: int = 0
    failures: int = 0


class Runner(Background):
    """Runs each controller for each shard, one run at a time, in the term that this node leads.

    A run is cancelled at the end of its term, and the next begins only after it has ended. Failed
    runs back off. `node` returns the `NodeApi` of a run. Gauges that a run has set are removed at
    the end of the term: the next leader sets its own. `shards` returns those that lead, the same
    object until any of that changes; `first` the first shard of a group.
    """

    def __init__(
        self,
        controllers: Iterable[Controller],
        shards: Callable[[], Iterable[Shard]],
        node: Callable[[Controller], NodeApi],
        changes: Changes,
        *,
        loop: asyncio.AbstractEventLoop,
        withdraw: Withdraw = lambda metric, labels: None,
        first: Callable[[str], ShardId] = lambda group: ShardId(group, 0),
    ) -> None:
        super().__init__(loop)
        self._first: Final = first
        self._controllers: Final = {each.name: each for each in controllers}
        self._by_group: Final[dict[str, list[Controller]]] = {}
        for each in self._controllers.values():
            self._by_group.setdefault(each.group, []).append(each)
        self._shards: Final = shards
        self._node: Final = node
        self._changes: Final = changes
        self._withdraw: Final = withdraw
        #: By controller.
        self.counters: Final = {name: ControllerCounters() for name in self._controllers}
        self._allowed: Final = {name: asyncio.Event() for name in self._controllers}
        for allowed in self._allowed.values():
            allowed.set()
        self._posts: Final[dict[tuple[str, ShardId], _Post]] = {}
        self._followed: Final[dict[str, asyncio.Task[None]]] = {}
        self._seen: Iterable[Shard] | None = None

    async def _run(self) -> None:
        await every(
            self._loop, TICK_S, self._look, "cannot start or stop controllers; trying again"
        )

    async def stop(self) -> None:
        """Cancel all runs and wait for them."""
        runs = [post.cancel() for post in self._posts.values()]
        await end(self._task, *self._followed.values())
        await asyncio.gather(*runs, return_exceptions=True)
        self._posts.clear()
        self._followed.clear()

    # Called by operators.

    def pause(self, name: str) -> None:
        """Start no run of a controller on this node until `resume`; a running one may end.

        Raises `LookupError`.
        """
        self._permission(name).clear()

    def resume(self, name: str) -> None:
        """Resume a paused controller at once. Raises `LookupError`."""
        self._permission(name).set()

    @property
    def paused(self) -> Sequence[str]:
        """The controllers that are paused on this node, whether or not it leads their shards."""
        return [name for name, allowed in self._allowed.items() if not allowed.is_set()]

    def status(self) -> Sequence[ControllerStatus]:
        """Return the status of each controller per shard that this node leads."""
        return [self._posts[key].status() for key in sorted(self._posts)]

    def failing(self, failures: int) -> Iterator[ControllerStatus]:
        """Yield the status of each controller that has failed this many times in a row here."""
        return (post.status() for post in self._posts.values() if post.failures >= failures)

    def _permission(self, name: str) -> asyncio.Event:
        if name not in self._allowed:
            known = ", ".join(sorted(self._allowed)) or "none"
            raise LookupError(f"controller {name} is not declared; declared are {known}")
        return self._allowed[name]

    # Following leadership.

    def _look(self) -> None:
        shards = self._shards()
        if shards is self._seen:
            return
        led = {shard.id: shard for shard in shards if shard.leads}
        for (_, name), post in self._posts.items():
            if name not in led or led[name].term != post.ref.term:
                post.cancel()
        for key in [key for key, post in self._posts.items() if post.task.done()]:
            for metric, labels in self._posts.pop(key).node.observed:
                self._withdraw(metric, dict(labels))
        for shard in led.values():
            for controller in self._by_group.get(shard.id.group, ()):
                self._fill(controller, shard)
        self._follow_families()
        self._seen = shards

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._seen = None

    def _fill(self, controller: Controller, shard: Shard) -> None:
        if controller.scope == "first_shard" and shard.id != self._first(shard.id.group):
            return
        key = controller.name, shard.id
        if key not in self._posts:
            allowed = self._allowed[controller.name]
            node = self._node(controller)
            counters = self.counters[controller.name]
            ref = ShardRef(shard.id.group, shard.id.number, shard.term)
            post = _Post(controller, ref, node, allowed, counters, self._loop)
            post.task.add_done_callback(self._ended)
            self._posts[key] = post

    # Waking.

    def _follow_families(self) -> None:
        """Watch each family that wakes a controller here."""
        wanted = {family for post in self._posts.values() for family in post.controller.wake_on}
        for family in [family for family in self._followed if family not in wanted]:
            self._followed.pop(family).cancel()
        for family in wanted.difference(self._followed):
            self._followed[family] = self._loop.create_task(self._follow(family))

    async def _follow(self, family: str) -> None:
        failures = 0
        while True:
            try:
                async for _ in self._changes(family):
                    failures = 0
                    await self._wake(family)
            except Exception as error:  # noqa: BLE001 - it is watched anew whatever it was
                failures += 1
                _log.log(
                    level_of(error, failures),
                    "family %s, which wakes controllers, cannot be watched: %s; trying again",
                    family,
                    sentence_of(error),
                )
            await pause(self._loop, _REWATCH_S)
            # Changes may have been missed meanwhile.
            await self._wake(family)

    async def _wake(self, family: str) -> None:
        posts = [each for each in self._posts.values() if family in each.controller.wake_on]
        for number, post in enumerate(posts):
            if number and not number % _TOGETHER:
                await pause(self._loop, _BETWEEN_S)
            post.woken.set()


class FencedNode:
    """A `NodeApi` that fences commands without `if_leader` to the run."""

    def __init__(self, node: NodeApi, fence: ShardRef) -> None:
        self._node: Final = node
        self._fence: Final = fence
        #: The observed metrics with their labels.
        self.observed: Final[set[tuple[str, frozenset[tuple[str, str]]]]] = set()
        #: The last progress that the run reported.
        self.told = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    @property
    def api(self) -> NodeApi:
        """The `NodeApi` of a controller; the rest is the node's own."""
        return cast(NodeApi, self)

    def progress(self, text: str) -> None:
        """Store the progress of the run, for the status."""
        self.told = text

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""
        self._node.observe(metric, value, **labels)
        self.observed.add((metric, frozenset(labels.items())))

    async def propose(
        self,
        command: Message,
        reply: type[R],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
    ) -> R:
        """Propose a command, which is refused in another term."""
        leader = if_leader or self._fence
        return await self._node.propose(
            command, reply, session=session, if_leader=leader, fence=fence
        )


class _Post:
    """A controller for a shard in a term."""

    def __init__(
        self,
        controller: Controller,
        ref: ShardRef,
        node: NodeApi,
        allowed: asyncio.Event,
        counters: ControllerCounters,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.controller: Final = controller
        self.ref: Final = ref
        self.woken: Final = asyncio.Event()
        self.node: Final = FencedNode(node, ref)
        self._allowed: Final = allowed
        self._counters: Final = counters
        self._loop: Final = loop
        self._backoff: Final = Backoff(1.0, 60.0)
        self._running = False
        self._cancelled = False
        self._runs = 0
        self._error: str | None = None
        self.task: Final = loop.create_task(self._work())

    def cancel(self) -> asyncio.Task[None]:
        """End the run; it is cancelled only once, so that it can clean up."""
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()
        return self.task

    @property
    def failures(self) -> int:
        return self._backoff.failures

    def status(self) -> ControllerStatus:
        return ControllerStatus(
            name=self.controller.name,
            shard=ShardId(self.ref.group, self.ref.shard),
            term=self.ref.term,
            state=self._state(),
            runs=self._runs,
            failures=self._backoff.failures,
            error=self._error,
            progress=self.node.told,
        )

    def _state(self) -> State:
        if self._cancelled:
            return "stopping"
        if self._running:
            return "running"
        if not self._allowed.is_set():
            return "paused"
        return "failing" if self._backoff.failures else "waiting"

    async def _work(self) -> None:
        while True:
            await self._allowed.wait()
            self.woken.clear()
            try:
                wait_s = await self._run_once()
            except (Exception, asyncio.CancelledError) as error:
                if self._cancelled:
                    raise
                await pause(self._loop, self._failed(error))
                continue
            if not self._runs:
                wait_s *= 1 - self.ref.shard % _APART / (2 * _APART)
            self._backoff.succeeded()
            self._error = None
            self._runs += 1
            self._counters.runs += 1
            if self._cancelled:
                return
            await pause(self._loop, _BREATH_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait_s - _BREATH_S)):
                    await self.woken.wait()

    async def _run_once(self) -> float:
        """Run it, and return the delay before the next run."""
        self._running = True
        try:
            await self.controller.run_once(self.node.api, self.ref)
            interval_s = self.controller.interval_s
            return interval_s(self.node.api) if callable(interval_s) else interval_s
        finally:
            self._running = False

    def _failed(self, error: BaseException) -> float:
        wait_s = self._backoff.failed()
        self._counters.failures += 1
        self._error = sentence_of(error)
        level = level_of(error, self._backoff.failures)
        _log.log(
            level,
            "controller %s of shard %s/%d failed %d times in a row; retrying in %g s: %s",
            self.controller.name,
            self.ref.group,
            self.ref.shard,
            self._backoff.failures,
            wait_s,
            self._error,
            exc_info=error if level >= logging.WARNING else None,
            extra={
                "shard": f"{self.ref.group}/{self.ref.shard}",
                "controller": self.controller.name,
            },
        )
        return wait_s
