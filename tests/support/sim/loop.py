"""An event loop on virtual time, as much of one as the runtime asks for."""

import asyncio
from asyncio import _set_running_loop
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, Final, TypeVar

from tests.support.sim.world import World

T = TypeVar("T")

#: No timer is more exact than this; it also keeps rounding from stopping the time.
_TICK_S: Final = 1e-6


class ProcessEndedError(BaseException):
    """Code of a process that has ended goes on, which it could not."""


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


#: Begins what a thread of an executor, or of none in particular, is to do: returns how long it
#: takes, and what to call at its end.
Begin = Callable[[object, Callable[[], Any]], tuple[float, Callable[[], Any]]]


def take_a_moment(_: object, work: Callable[[], Any]) -> tuple[float, Callable[[], Any]]:
    """Begin what takes a millisecond."""
    return 0.001, work


class VirtualLoop(asyncio.AbstractEventLoop):
    """The loop of one process: nothing runs after its end, nothing while it is paused."""

    def __init__(
        self,
        world: World,
        clock: Clock,
        begin: Begin = take_a_moment,
        observe: Callable[[], None] = lambda: None,
    ) -> None:
        self._world: Final = world
        self._clock: Final = clock
        self._begin: Final = begin
        #: Called after everything that ran.
        self._observe: Final = observe
        self._paused = False
        self._ended = False
        self._backlog: Final[list[tuple[Callable[..., None], tuple[Any, ...]]]] = []
        #: Until when each executor of a single thread has work.
        self._busy: Final[dict[object, float]] = {}
        #: Held, so that no task is collected, and cleaned up after, at some moment of its own.
        self._tasks: Final[set[asyncio.Task[Any]]] = set()
        self.error: BaseException | None = None
        world.keep(self)

    def post(self, delay: float, act: Callable[..., None], *arguments: Any) -> None:
        """Call `act` in this process after a delay."""
        self._world.at(delay, self._run, act, arguments)

    def run(self, act: Callable[..., None], *arguments: Any) -> None:
        """Call `act` in this process at once, as what comes from outside does."""
        self._run(act, arguments)

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

    def dispose(self) -> None:
        """Let go of what stands still in the middle of its work; nothing of it has an effect."""
        self.end()
        for task in list(self._tasks):
            with suppress(BaseException):
                if (stopped := task.get_coro()) is not None:
                    stopped.throw(ProcessEndedError)
        self._tasks.clear()

    def _run(self, act: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        if self._ended:
            return
        if self._paused:
            self._backlog.append((act, arguments))
            return
        _set_running_loop(self)
        try:
            act(*arguments)
        except BaseException:
            # A process that ended in there does not care what unwinds.
            if not self.is_closed():
                raise
            return
        finally:
            _set_running_loop(None)
        self._observe()

    # What is asked of an event loop.

    def get_debug(self) -> bool:
        """Return whether handles remember where they were made."""
        return False

    def is_running(self) -> bool:
        """Return whether callbacks are called."""
        return not self._ended

    def is_closed(self) -> bool:
        """Return whether the process ended."""
        return self._ended

    def time(self) -> float:
        """Return what the machine's clock shows."""
        return self._clock()

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        self._demand_life()
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Run a coroutine; it stands still for good where the process ends."""
        task = asyncio.Task(coro, loop=self, name=name or "task", context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after what is due already."""
        handle = asyncio.Handle(callback, args, self, context)
        self._world.at(0.0, self._call, handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after what is due already: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call when the machine's clock has moved on by `delay`."""
        handle = asyncio.TimerHandle(self.time() + delay, callback, args, self, context)
        self._world.at(max(0.0, delay) / self._clock.rate + _TICK_S, self._call, handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call when the machine's clock shows `when`."""
        return self.call_later(when - self.time(), callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Let a thread do it: it happens in one piece, at the end of the time that it takes."""
        self._demand_life()
        done: asyncio.Future[T] = asyncio.Future(loop=self)
        takes, work = self._begin(executor, partial(func, *args))
        if getattr(executor, "_max_workers", None) == 1:
            takes += max(0.0, self._busy.get(executor, 0.0) - self._world.now)
            self._busy[executor] = self._world.now + takes
        self._world.at(takes, self._finish, work, done)
        return done

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what a callback raised: it must not have."""
        if not self._ended and "handle" in context:
            self.error = self.error or context.get("exception")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays in the world's heap and does nothing there."""

    def _demand_life(self) -> None:
        if self._ended:
            raise ProcessEndedError

    def _finish(self, work: Callable[[], T], done: asyncio.Future[T]) -> None:
        if self._ended:
            return
        # No thread has a running loop: here it tells whose thread it is.
        _set_running_loop(self)
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is for the waiter
            self.post(0.0, _fail, done, error)
        else:
            self.post(0.0, _fulfil, done, result)
        finally:
            _set_running_loop(None)

    def _call(self, handle: asyncio.Handle) -> None:
        # Most timers are cancelled: that must cost next to nothing.
        if not handle.cancelled():
            self._run(self._run_handle, (handle,))

    def _run_handle(self, handle: asyncio.Handle) -> None:
        if not handle.cancelled():
            handle._run()
            if self.error is not None:
                raise self.error


class VirtualThread:
    """Stands in for `quorate.storage.log.work_thread.WorkThread`."""

    #: As an executor has it: its work takes turns.
    _max_workers: Final = 1

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop: Final = loop

    def start(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Do work at the end of the time that it takes, then call `done` on the loop."""

        def end(ended: asyncio.Future[None]) -> None:
            error = ended.exception()
            assert error is None or isinstance(error, Exception)
            done(error)

        self._loop.run_in_executor(self, work).add_done_callback(end)

    def close(self) -> None:
        """Do nothing: there is no thread."""


def _fulfil(done: asyncio.Future[T], result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
