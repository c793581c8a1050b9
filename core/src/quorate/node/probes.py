"""The metrics, the liveness and the readiness of a node over HTTP."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from time import perf_counter, time
from types import SimpleNamespace
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from quorate.observe.history import KEPT_S, History, encoded
from quorate.observe.http import Answer, HttpServer, Request, Site
from quorate.observe.metrics import SCRAPED, is_named

T = TypeVar("T")

#: A loop that does not respond for this long is not alive.
LIVE_WITHIN_S: Final = 2.0
_METRICS_WITHIN_S: Final = 5.0
#: Maximum number of names in a request for metrics.
_MOST_NAMES: Final = 256
#: How long metrics are read before the loop serves other tasks.
_TURN_S: Final = 0.001


@dataclass(eq=False)
class Probes:
    """Queries the node's loop from the threads of callers.

    `missing` returns the reasons why the node is not ready; it is called on the loop.
    """

    _loop: asyncio.AbstractEventLoop
    _registry: CollectorRegistry
    _missing: Callable[[], Sequence[str]]
    _server: HttpServer | None = field(default=None, init=False)

    def start(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        sites: Mapping[str, Site] | None = None,
        history: History | None = None,
    ) -> int:
        """Listen, and return the port; raises `OSError` if it cannot."""
        paths = {"/livez": self._livez, "/readyz": self._readyz}
        if sites:
            # The first one is for people.
            paths["/"] = partial(_leads_to, next(iter(sites)))
        sites = {"/metrics": self._metrics, **(sites or {})}
        if history is not None:
            sites["/history"] = partial(_history, history)
        self._server = HttpServer(host, port, paths, tls, sites)
        return self._server.port

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            await self._loop.run_in_executor(None, self._server.close)

    def _metrics(self, asked: Request) -> Answer:
        if asked.path:
            return Answer(HTTPStatus.NOT_FOUND, b"all metrics are at /metrics\n")
        names = tuple(filter(None, asked.query.get("names", "").split(",")))
        if len(names) > _MOST_NAMES:
            text = f"at most {_MOST_NAMES} names allowed\n".encode()
            return Answer(HTTPStatus.BAD_REQUEST, text)
        # They are read on the loop, where they change, and encoded in this thread.
        found = self._ask(partial(self._read, names), _METRICS_WITHIN_S)
        if found is None:
            return _silent(_METRICS_WITHIN_S)
        # Only the format of OpenMetrics, which Prometheus prefers, has exemplars.
        try:
            encode, content_type = choose_encoder(asked.accept)
        except TypeError:
            # The requested version is not a number.
            encode, content_type = choose_encoder("")
        content = encode(SimpleNamespace(collect=lambda: found))
        return Answer(HTTPStatus.OK, content, content_type)

    def _livez(self) -> Answer:
        alive = self._ask(partial(_said, lambda: True), LIVE_WITHIN_S)
        return Answer(HTTPStatus.OK, b"alive\n") if alive else _silent(LIVE_WITHIN_S)

    def _readyz(self) -> Answer:
        missing = self._ask(partial(_said, self._missing), LIVE_WITHIN_S)
        if missing is None:
            return _silent(LIVE_WITHIN_S)
        if missing:
            text = "".join(f"{each}\n" for each in missing)
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, text.encode())
        return Answer(HTTPStatus.OK, b"ready\n")

    def _ask(self, question: Callable[[], Coroutine[None, None, T]], within_s: float) -> T | None:
        """Run a coroutine on the loop and return its result; None if it takes too long."""
        asking = question()
        try:
            asked = asyncio.run_coroutine_threadsafe(asking, self._loop)
        except RuntimeError:
            # The loop was closed.
            asking.close()
            return None
        try:
            return asked.result(within_s)
        except TimeoutError:
            asked.cancel()
            return None

    # On the loop.

    async def _read(self, names: tuple[str, ...]) -> Sequence[Metric]:
        found: list[Metric] = []
        SCRAPED.set(names)
        turn_ends = perf_counter() + _TURN_S
        for metric in self._registry.collect():
            if is_named(metric.name, names):
                if names:
                    metric.samples = [
                        each for each in metric.samples if each.name.startswith(names)
                    ]
                found.append(metric)
            if perf_counter() >= turn_ends:
                await asyncio.sleep(0)
                turn_ends = perf_counter() + _TURN_S
        return found


async def _said(question: Callable[[], T]) -> T:
    return question()


def _leads_to(path: str) -> Answer:
    return Answer(HTTPStatus.FOUND, f"see {path}\n".encode(), headers={"Location": path})


def _history(history: History, asked: Request) -> Answer:
    """Answer with the samples of the last seconds, `last_s` of them, the oldest first."""
    last = asked.query.get("last_s", f"{KEPT_S:.0f}")
    if asked.path or not last.isdecimal() or len(last) > 9:
        text = b"there is /history?last_s=SECONDS\n"
        return Answer(HTTPStatus.BAD_REQUEST, text)
    samples = history.since(round(1e3 * (time() - int(last))))
    return Answer(HTTPStatus.OK, encoded(samples), "application/json")


def _silent(for_s: float) -> Answer:
    text = f"the node's loop did not answer for {for_s:g} s\n"
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE, text.encode())
