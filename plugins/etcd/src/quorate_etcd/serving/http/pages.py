"""The pages over HTTP/1.1 at the port of a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import parse_qs

from quorate.plugin.advanced import HttpAnswer, HttpRequest

from quorate_etcd import release
from quorate_etcd.serving.http.gateway import Gateway, compact

_JSON: Final = "application/json"
_CORS: Final = {
    "Access-Control-Allow-Headers": "accept, content-type, authorization",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS, PUT, DELETE",
    "Access-Control-Allow-Origin": "*",
}
_NOT_FOUND: Final = HttpAnswer(404, b"404 page not found\n")

#: Returns why the store is not healthy, or "". It is asked whether to read from this node's replica
#: alone, and which alarms do not count.
Health = Callable[[bool, frozenset[str]], Awaitable[str]]
#: Returns the content of `/metrics`.
Metrics = Callable[[], Awaitable[str]]


class Pages:
    """Answers requests: those of the gateway, and those about the node."""

    def __init__(self, gateway: Gateway, health: Health, metrics: Metrics) -> None:
        self._gateway: Final = gateway
        self._health: Final = health
        self._metrics: Final = metrics
        #: By name: whether it reads, and whether from this node's replica alone.
        self._checks: Final[Mapping[str, Mapping[str, bool | None]]] = {
            "livez": {"serializable_read": True},
            "readyz": {
                "data_corruption": None,
                "serializable_read": True,
                "linearizable_read": False,
                "non_learner": None,
            },
        }

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        found = await self._answer(request)
        return found._replace(headers={**_CORS, **found.headers})

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        if request.method == "OPTIONS":
            return HttpAnswer(200, b"")
        if self._gateway.takes(request.path):
            return await self._gateway.answer(request)
        page = request.path.strip("/").partition("/")
        if page[0] in self._checks:
            return await self._probe(page[0], page[2], request)
        match request.path:
            case "/version":
                served = {
                    "etcdserver": release.SERVER,
                    "etcdcluster": release.CLUSTER,
                    "storage": release.CLUSTER,
                }
                return HttpAnswer(200, compact(served), _JSON)
            case "/health":
                return await self._healthy(request)
            case "/metrics":
                text = await self._metrics()
                return HttpAnswer(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
        return _NOT_FOUND

    async def _healthy(self, request: HttpRequest) -> HttpAnswer:
        if request.method != "GET":
            return HttpAnswer(405, b"Method Not Allowed\n", headers={"Allow": "GET"})
        asked = parse_qs(request.query)
        serializable = asked.get("serializable", [""])[-1] == "true"
        reason = await self._health(serializable, frozenset(asked.get("exclude", ())))
        well = "false" if reason else "true"
        return HttpAnswer(
            503 if reason else 200, compact({"health": well, "reason": reason}), _JSON
        )

    async def _probe(self, page: str, name: str, request: HttpRequest) -> HttpAnswer:
        checks = self._checks[page]
        if name and name not in checks:
            return _NOT_FOUND
        asked = parse_qs(request.query, keep_blank_values=True)
        excluded = set(asked.get("exclude", ()))
        failed, lines = False, []
        for each in [name] if name else [each for each in checks if each not in excluded]:
            local = checks[each]
            reason = "" if local is None else await self._health(local, frozenset(("NOSPACE",)))
            failed = failed or bool(reason)
            lines.append(f"[-]{each} failed: {reason}" if reason else f"[+]{each} ok")
        verbose = failed or "verbose" in asked
        shown = [*(lines if verbose else ()), "not ok" if failed else "ok"]
        return HttpAnswer(503 if failed else 200, "\n".join(shown).encode() + b"\n")
