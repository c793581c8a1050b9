"""Counts the calls of a servicer, and admits their callers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from quorate_etcd.serving.gatekeeper import Gatekeeper
from quorate_etcd.serving.leadership import Leadership, requires_leader
from quorate_etcd.serving.tally import Tally, call_of


class Around:
    """Has the methods of a service, of which each call goes through all of these."""

    def __init__(
        self,
        service: ServiceDescriptor,
        servicer: object,
        tally: Tally,
        leadership: Leadership,
        gatekeeper: Gatekeeper,
    ) -> None:
        self._tally: Final = tally
        self._leadership: Final = leadership
        self._gatekeeper: Final = gatekeeper
        for method in service.methods:
            wrap = self._streaming if method.server_streaming else self._answering
            setattr(self, method.name, wrap(method, getattr(servicer, method.name)))

    def _answering(self, method: MethodDescriptor, serve: Any) -> Any:
        call, name = call_of(method), method.name
        tally, leadership, gatekeeper = self._tally, self._leadership, self._gatekeeper

        async def answer(request: Any, context: Any) -> Any:
            tally.started[call] += 1
            try:
                if requires_leader(context):
                    leadership.demand()
                if gatekeeper.guards(name):
                    await gatekeeper.enter(name, request, context)
                answer = await serve(request, context)
            except BaseException as error:
                tally.failed(call, error)
                raise
            tally.succeeded(call)
            return answer

        return answer

    def _streaming(self, method: MethodDescriptor, serve: Any) -> Any:
        call, name = call_of(method), method.name
        tally, leadership, gatekeeper = self._tally, self._leadership, self._gatekeeper

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            tally.started[call] += 1
            try:
                required = requires_leader(context)
                if required:
                    leadership.demand()
                await gatekeeper.enter(name, request, context)
                answers = serve(request, context)
                async with aclosing(leadership.while_led(answers) if required else answers) as led:
                    async for each in led:
                        yield each
            except BaseException as error:
                tally.failed(call, error)
                raise
            tally.succeeded(call)

        return stream
