"""An event loop on virtual time, as much of one as drivers and the log's sync loop ask for."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final

from quorate.testing.sim.world import World

#: No timer is more exact than this; it also keeps rounding from stopping the time.
_TICK_S: Final = 1e-6


class Clock:
    """A machine's monotonic clock: it may run fast or slow, and jump ahead."""

    def __init__(self, world: World) -> None:
        self._world: Final = world
        self._since = 0.0
        self._then = 0.0
        self._rate = 1.0

    def __call__(self) -> float:
        """Return what it shows."""
        return self._then + (self._world.now - self._since) * self._rate

    @property
    def rate(self) -> float:
        """How many of its seconds go by in one."""
        return self._rate

    def set(self, *, rate: float = 1.0, ahead_s: float = 0.0) -> None:
        """Let it run at a rate, from a jump on."""
        self._then = self() + ahead_s
        self._since = self._world.now
        self._rate = rate


class VirtualLoop(asyncio.AbstractEventLoop):
    """The loop of one process: nothing runs after its end, nothing while it is paused."""

    def __init__(
        self, world: World, clock: Clock, sync: Callable[[Callable[[], None]], None]
    ) -> None:
        self._world: Final = world
        self._clock: Final = clock
        self._sync: Final = sync
        self._paused = False
        self._ended = False
        self._backlog: Final[list[tuple[Callable[..., None], tuple[Any, ...]]]] = []
        self.error: BaseException | None = None

    def post(self, delay: float, act: Callable[..., None], *arguments: Any) -> None:
        """Call `act` in this process after a delay."""
        self._world.at(delay, self._run, act, arguments)

    def pause(self) -> None:
        """Stop, as SIGSTOP does."""
        self._paused = True

    def resume(self) -> None:
        """Go on with all that came meanwhile."""
        self._paused = False
        backlog, self._backlog[:] = list(self._backlog), []
        for act, arguments in backlog:
            self.post(0.0, act, *arguments)

    def end(self) -> None:
        """Run nothing any more."""
        self._ended = True
        self._backlog.clear()

    def _run(self, act: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        if self._ended:
            return
        if self._paused:
            self._backlog.append((act, arguments))
            return
        act(*arguments)

    # What is asked of an event loop.

    def get_debug(self) -> bool:
        """Return whether handles remember where they were made."""
        return False

    def time(self) -> float:
        """Return what the machine's clock shows."""
        return self._clock()

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after what is due already."""
        handle = asyncio.Handle(callback, args, self, context)
        self.post(0.0, self._call, handle)
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call when the machine's clock has moved on by `delay`."""
        handle = asyncio.TimerHandle(self.time() + delay, callback, args, self, context)
        self.post(delay / self._clock.rate + _TICK_S, self._call, handle)
        return handle

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[None]:
        """Begin a sync of the log, the only work that is done in a thread."""
        done: asyncio.Future[None] = asyncio.Future(loop=self)
        self._sync(lambda: done.set_result(None))
        return done

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what a callback raised: it must not have."""
        self.error = self.error or context.get("exception")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays in the world's heap and does nothing there."""

    def _call(self, handle: asyncio.Handle) -> None:
        if not handle.cancelled():
            handle._run()
            if self.error is not None:
                raise self.error
