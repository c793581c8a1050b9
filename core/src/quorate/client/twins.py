"""The twin of the asynchronous client for code that does not await, and the twins of helpers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    contextmanager,
    suppress,
)
from functools import wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from quorate.client.errors import ClosedError
from quorate.client.home import Home

#: The longest that a signal waits which is not noticed when it comes.
_SIGNALS_S: Final = 0.5

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class LoopThread:
    """A thread with an event loop, in which coroutines of other threads run."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.new_event_loop()
        self._thread: Final = threading.Thread(
            target=self._loop.run_forever, name="quorate-client", daemon=True
        )
        self._home: Final = Home()
        self._closing: Final = threading.Lock()
        self._closed = False
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Wait for a coroutine; raises `ClosedError` once this has been closed."""
        if self._closed or threading.current_thread() is self._thread:
            coroutine.close()
            if self._closed:
                raise ClosedError
            raise RuntimeError("the thread of a client cannot wait for itself; use AsyncClient")
        try:
            # The thread is in the process that made it, and in none that was forked from that.
            self._home.check_process()
        except ClosedError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return self._awaited(future)
        except CancelledError:
            raise ClosedError from None
        except BaseException:
            # An interrupt from the keyboard, say: nobody waits for it any more.
            future.cancel()
            raise

    def _awaited(self, future: Future[R]) -> R:
        # A signal that comes right before a thread waits is handled only after it has waited.
        while True:
            try:
                return future.result(_SIGNALS_S)
            except TimeoutError:
                if future.done():
                    return future.result()
                if not self._thread.is_alive():
                    raise ClosedError from None

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a last coroutine, end all others, and end the thread."""
        if self._home.is_elsewhere:
            # A lock that was held at the fork is held for ever.
            self._closed = True
            return
        with self._closing:
            if self._closed:
                return
            if not self._thread.is_alive():
                self._closed = True
                # In a thread, as a loop may run in this one.
                end = self._loop.run_until_complete
                ending = threading.Thread(target=end, args=(_end_others(),), daemon=True)
                ending.start()
                ending.join()
                self._loop.close()
                return
            try:
                self.run(last())
            finally:
                self._closed = True
                # The thread may die meanwhile.
                with suppress(ClosedError):
                    self._awaited(asyncio.run_coroutine_threadsafe(_end_others(), self._loop))
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()


async def _end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Blocking(Generic[T_co]):
    """A blocking twin: its methods wait for the methods of its asynchronous twin.

    A twin is written down method by method, and keeps their signatures:

        class SyncGreetings(Blocking[Greetings]):
            say_hello = blocking(Greetings.say_hello)
    """

    def __init__(self, thread: LoopThread, asynchronous: T_co) -> None:
        self.thread: Final = thread
        self.asynchronous: Final = asynchronous


def blocking(
    method: Callable[Concatenate[T, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Blocking[T], P], R]:
    """Return the method that waits for the answer of this one."""

    @wraps(method)
    def wait(self: Blocking[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.thread.run(method(self.asynchronous, *args, **kwargs))

    return wait


def iterating(
    method: Callable[Concatenate[T, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Blocking[T], P], Iterator[R]]:
    """Return the method that waits for one answer of this one after the other."""

    @wraps(method)
    def wait(self: Blocking[T], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        answers = method(self.asynchronous, *args, **kwargs)
        # An interrupted step ends a little later.
        alone = asyncio.Lock()
        try:
            while True:
                found = self.thread.run(_following(answers, alone))
                if not found:
                    return
                yield found[0]
        finally:
            with suppress(ClosedError):
                self.thread.run(_close(answers, alone))

    return wait


def entering(
    method: Callable[Concatenate[T, P], AbstractAsyncContextManager[R]],
) -> Callable[Concatenate[Blocking[T], P], AbstractContextManager[R]]:
    """Return the method for `with` where this one is for `async with`."""

    @wraps(method)
    @contextmanager
    def enter(self: Blocking[T], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        entered = AsyncExitStack()
        context = method(self.asynchronous, *args, **kwargs)
        try:
            yield self.thread.run(entered.enter_async_context(context))
        finally:
            self.thread.run(entered.aclose())

    return enter


def twinned(
    method: Callable[Concatenate[T, P], R], kind: Callable[[LoopThread, R], S]
) -> Callable[Concatenate[Blocking[T], P], S]:
    """Return the method that returns the twin of what this one returns."""

    @wraps(method)
    def make(self: Blocking[T], /, *args: P.args, **kwargs: P.kwargs) -> S:
        return kind(self.thread, method(self.asynchronous, *args, **kwargs))

    return make


def entering_twin(
    method: Callable[Concatenate[T, P], AbstractAsyncContextManager[R]],
    kind: Callable[[LoopThread, R], S],
) -> Callable[Concatenate[Blocking[T], P], AbstractContextManager[S]]:
    """Return the method for `with` that gives the twin of what this one gives."""
    entered = entering(method)

    @wraps(method)
    @contextmanager
    def enter(self: Blocking[T], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[S]:
        with entered(self, *args, **kwargs) as given:
            yield kind(self.thread, given)

    return enter


async def _close(answers: AsyncGenerator[Any, None], alone: asyncio.Lock) -> None:
    async with alone:
        await answers.aclose()


async def _following(answers: AsyncGenerator[R, None], alone: asyncio.Lock) -> tuple[R] | tuple[()]:
    async with alone:
        async for answer in answers:
            return (answer,)
        return ()
