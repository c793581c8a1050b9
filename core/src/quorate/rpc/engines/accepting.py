"""Accepts calls with one request as they arrive, and serves each in the task that accepted it.

`grpc.aio` accepts one call at a time, and asks for the next one several turns of the loop later:
while the loop is busy, calls queue inside gRPC and batches stay small. It also makes three tasks a
call. Here each method has as many accepts outstanding as it had calls at a time, up to a bound, and
a call makes no task.

It stands on methods of gRPC's own server that are not public. Where a version of gRPC does not have
them as they are known here, calls are served by `grpc.aio` as it does: slower, not otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import grpc
import grpc.aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # it has no types

#: Tasks of a method that wait for a call when none is open: a burst of as many is accepted in one
#: turn of the loop.
_IDLE: Final = 32

#: What it calls, with the names of the arguments.
_KNOWN: Final = {
    "_handle_cancellation_from_core": ("rpc_task", "rpc_state", "loop"),
    "_handle_exceptions": ("rpc_state", "rpc_coro", "loop", "method_name"),
    "_handle_unary_stream_rpc": ("method_handler", "rpc_state", "loop"),
    "_handle_unary_unary_rpc": ("method_handler", "rpc_state", "loop"),
}
_KNOWN_OF_SERVER: Final = {
    "_make_request_call_future": ("self", "method_bytes"),
    "_request_registered_call": ("self", "method"),
    "add_registered_method_handlers": ("self", "method_handlers"),
}


class Accepting:
    """A server of gRPC's; calls with one request are accepted here, once `start` was called."""

    def __init__(self, options: list[tuple[str, Any]]) -> None:
        self.server: Final = grpc.aio.server(options=options)
        self._core: Final = _core(options) if supported() else None
        if self._core is not None:
            self.server._server = self._core  # type: ignore[attr-defined]  # it is not public

    async def start(
        self,
        methods: Mapping[str, grpc.RpcMethodHandler[Any, Any]],
        ended: Callable[[asyncio.Task[Any]], None] | None = None,
    ) -> None:
        """Start the server, and accept the calls of these methods, by their paths.

        `ended` is called with the task of each of these calls once its answer was sent, if it is
        `supported`.
        """
        core = self._core
        if core is not None:
            core.add_registered_method_handlers(dict(methods))
        await self.server.start()
        if core is not None:
            for path, method in methods.items():
                _Method(core, path, method, ended).accept()


def supported() -> bool:
    """Whether this version of gRPC has what is called here."""
    known = ((cygrpc, _KNOWN), (cygrpc.AioServer, _KNOWN_OF_SERVER))
    return all(
        _arguments(getattr(place, name, None)) == arguments
        for place, names in known
        for name, arguments in names.items()
    )


def _arguments(function: Any) -> tuple[str, ...] | None:
    code = getattr(function, "__code__", None)
    return None if code is None else code.co_varnames[: code.co_argcount]


def _core(options: list[tuple[str, Any]]) -> Any:
    class Core(cygrpc.AioServer):  # type: ignore[misc]
        """gRPC's server, which leaves the calls of registered methods to who asks for them.

        It waits at every call for all that it asked for: what it does not ask for costs nothing.
        """

        def _make_request_call_future(self, method_bytes: bytes | None) -> Any:
            if method_bytes is None:
                return super()._make_request_call_future(None)
            return asyncio.get_running_loop().create_future()

    return Core(cygrpc.get_working_loop(), None, (), None, tuple(options), None)


class _Method:
    """The tasks that accept the calls of a method."""

    def __init__(
        self,
        core: Any,
        path: str,
        handler: grpc.RpcMethodHandler[Any, Any],
        ended: Callable[[asyncio.Task[Any]], None] | None,
    ) -> None:
        self._core: Final = core
        self._path: Final = path
        self._wire: Final = path.encode()
        self._handler: Final = handler
        streams = handler.response_streaming
        self._answer: Final = getattr(
            cygrpc, "_handle_unary_stream_rpc" if streams else "_handle_unary_unary_rpc"
        )
        self._ended: Final = ended
        self._loop: Final = asyncio.get_running_loop()
        self._idle = 0
        #: The loop itself does not keep them.
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    def accept(self) -> None:
        """Let one task more accept calls."""
        self._idle += 1
        task = self._loop.create_task(self._serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        core, loop, path = self._core, self._loop, self._path
        task = asyncio.current_task()
        assert task is not None
        while core.is_running():
            try:
                state = await core._request_registered_call(self._wire)
            except cygrpc._RequestCallError:
                continue  # the server stops, or this one call was lost
            self._idle -= 1
            if not self._idle:
                self.accept()
            call = _Call(task)
            call.watch(cygrpc._handle_cancellation_from_core(call, state, loop))
            answer = self._answer(self._handler, state, loop)
            # What is raised, a cancellation as well, ends there.
            await cygrpc._handle_exceptions(state, answer, loop, path)
            call.ended = True
            # What the call was asked and answered goes now, and not with the next one.
            del state, answer, call
            if self._ended is not None:
                self._ended(task)
            if task.cancelling() or self._idle >= _IDLE:
                # A task that was cancelled once would spoil the timeouts of the next call.
                return
            self._idle += 1


class _Call:
    """What gRPC takes for the task of a call: it cancels it when the caller has gone."""

    __slots__ = ("_closing", "_task", "ended")

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task: Final = task
        self._closing: Generator[Any, None, None] | None = None
        self.ended = False

    def watch(self, closing: Any) -> None:
        """Run the coroutine that waits for the end of the call; it needs no task for one future."""
        self._closing = closing
        self._go_on(None)

    def done(self) -> bool:
        """Whether the call was answered."""
        return self.ended

    def cancel(self) -> None:
        """End what serves the call."""
        if not self.ended:
            self._task.cancel()

    def _go_on(self, _: object) -> None:
        assert self._closing is not None
        try:
            self._closing.send(None).add_done_callback(self._go_on)
        except StopIteration:
            self._closing = None
