"""The JSON of the gateway, and the pages about the node; what a stock server wrote stands here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.plugin.advanced import HttpAnswer, HttpRequest
from quorate_etcd import errors
from quorate_etcd.serving.http.gateway import Gateway
from quorate_etcd.serving.http.pages import Pages
from quorate_etcd.serving.http.routes import KV, LEASE, WATCH, routes
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc


class Servicer:
    """Answers with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.metadata: dict[str, str] = {}
        self.left = asyncio.Event()

    async def Range(self, request: rpc.RangeRequest, context: Any) -> rpc.RangeResponse:
        self.asked.append(request)
        self.metadata = dict(context.invocation_metadata())
        if request.key == b"none":
            errors.EMPTY_KEY.refuse()
        if request.key == b"led":
            errors.NO_LEADER.refuse()
        if request.key == b"bug":
            raise KeyError(1)
        return rpc.RangeResponse(
            header=rpc.ResponseHeader(cluster_id=5, revision=7),
            kvs=[mvcc.KeyValue(key=b"\xff\xfe", value=b"", mod_revision=-1)],
            count=1,
        )

    async def Txn(self, request: rpc.TxnRequest, context: Any) -> rpc.TxnResponse:
        self.asked.append(request)
        return rpc.TxnResponse(
            header=rpc.ResponseHeader(),
            responses=[rpc.ResponseOp(response_range=rpc.RangeResponse())],
        )

    async def Watch(self, requests: Any, context: Any) -> AsyncIterator[rpc.WatchResponse]:
        try:
            async for each in requests:
                self.asked.append(each)
                if each.create_request.key == b"none":
                    errors.NO_LEADER.refuse()
                yield rpc.WatchResponse(created=True)
            yield rpc.WatchResponse(events=[mvcc.Event(type=mvcc.Event.DELETE)])
            if self.asked[0].create_request.key == b"end":
                errors.NO_LEADER.refuse()
            await asyncio.Event().wait()
        finally:
            self.left.set()

    async def LeaseKeepAlive(
        self, requests: Any, context: Any
    ) -> AsyncIterator[rpc.LeaseKeepAliveResponse]:
        async for request in requests:
            yield rpc.LeaseKeepAliveResponse(ID=request.ID)


class Others:
    """Has every method."""

    def __init__(self, servicer: Servicer) -> None:
        self._servicer = servicer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._servicer, name, self._lacking)

    async def _lacking(self, request: Any, context: Any) -> Any:
        raise AssertionError


@pytest.fixture
def servicer() -> Servicer:
    return Servicer()


@pytest.fixture
def pages(servicer: Servicer) -> Pages:
    others = Others(servicer)

    async def health(serializable: bool, excluded: frozenset[str]) -> str:
        if not serializable and "leader" in servicer.metadata:
            return "RAFT NO LEADER"
        return "" if "NOSPACE" in excluded or "full" not in servicer.metadata else "ALARM NOSPACE"

    async def metrics() -> str:
        return "etcd_server_has_leader 1\n"

    return Pages(Gateway({KV: others, WATCH: others, LEASE: others}), health, metrics)


async def asked(
    pages: Pages, path: str, body: str = "", method: str = "POST", **headers: str
) -> tuple[int, Any]:
    path, _, query = path.partition("?")
    request = HttpRequest(
        method=method, path=path, query=query, headers=headers, body=body.encode()
    )
    answer = await pages(request)
    assert isinstance(answer.body, bytes)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    kind = answer.content_type
    return answer.status, json.loads(answer.body) if "json" in kind else answer.body.decode()


async def streamed(pages: Pages, path: str, body: str) -> tuple[HttpAnswer, AsyncIterator[Any]]:
    answer = await pages(HttpRequest(method="POST", path=path, headers={}, body=body.encode()))

    async def lines() -> AsyncIterator[Any]:
        assert not isinstance(answer.body, bytes)
        async for each in answer.body:
            assert each.endswith(b"\n")
            yield json.loads(each)

    return answer, lines()


async def test_answers_leave_out_zeros_and_write_int64_as_text(pages: Pages) -> None:
    assert await asked(pages, "/v3/kv/range", '{"key":"Zm9v"}') == (
        200,
        {
            "header": {"cluster_id": "5", "revision": "7"},
            "kvs": [{"key": "//4=", "mod_revision": "-1"}],
            "count": "1",
        },
    )
    assert await asked(pages, "/v3/kv/txn", "{}") == (
        200,
        {"header": {}, "responses": [{"response_range": {}}]},
    )


@pytest.mark.parametrize(
    "body",
    [
        '{"key":"Zm9v","range_end":"AA==","limit":"3","sort_order":"DESCEND","keys_only":true}',
        '{"key":"Zm9v","rangeEnd":"AA==","limit":3,"sortOrder":2,"keysOnly":true}',
        '{"key":"Zm9v","range_end":"AA","limit":3,"sort_order":2,"keys_only":true,"x":{"y":1}}',
    ],
)
async def test_requests_are_taken_as_clients_write_them(
    pages: Pages, servicer: Servicer, body: str
) -> None:
    for path in ("/v3/kv/range", "/v3beta/kv/range"):
        assert (await asked(pages, path, body))[0] == 200
        assert servicer.asked.pop() == rpc.RangeRequest(
            key=b"foo",
            range_end=b"\0",
            limit=3,
            sort_order=rpc.RangeRequest.DESCEND,
            keys_only=True,
        )


async def test_an_empty_body_is_an_empty_request(pages: Pages, servicer: Servicer) -> None:
    assert (await asked(pages, "/v3/kv/range"))[0] == 200
    assert servicer.asked == [rpc.RangeRequest()]


async def test_the_token_of_a_caller_goes_along(pages: Pages, servicer: Servicer) -> None:
    await asked(pages, "/v3/kv/range", "{}", authorization="abc.1", cookie="c")
    assert servicer.metadata == {"authorization": "abc.1"}


@pytest.mark.parametrize(
    ("key", "status", "code", "text"),
    [
        ("bm9uZQ==", 400, 3, "etcdserver: key is not provided"),
        ("bGVk", 503, 14, "etcdserver: no leader"),
        ("YnVn", 500, 13, "KeyError: see the node's log"),
    ],
)
async def test_refusals_are_json(pages: Pages, key: str, status: int, code: int, text: str) -> None:
    body = f'{{"key":"{key}"}}'
    assert await asked(pages, "/v3/kv/range", body) == (
        status,
        {"error": text, "code": code, "message": text},
    )


@pytest.mark.parametrize(
    "body", ["{", "[]", "1", '{"key":1}', '{"limit":"x"}', "\x00", "[" * 100_000]
)
async def test_a_malformed_body_is_refused(pages: Pages, body: str) -> None:
    status, content = await asked(pages, "/v3/kv/range", body)
    assert (status, content["code"]) == (400, 3)


async def test_a_body_has_so_many_requests(pages: Pages, servicer: Servicer) -> None:
    status, content = await asked(pages, "/v3/lease/keepalive", " {} " * 10_001)
    assert (status, content["error"]) == (
        400,
        "a body has at most 10,000 requests: send several",
    )
    assert not servicer.asked


async def test_paths_and_methods_that_are_not_served(pages: Pages) -> None:
    assert await asked(pages, "/v3/kv/stranger", "{}") == (
        404,
        {"error": "Not Found", "code": 5, "message": "Not Found"},
    )
    assert (await asked(pages, "/v3/kv/range", method="GET"))[0] == 501
    assert await asked(pages, "/v2/keys/a", method="GET") == (404, "404 page not found\n")
    assert (await asked(pages, "/v3/kv/range", method="OPTIONS"))[0] == 200


async def test_a_watch_is_a_stream_of_lines_until_its_client_leaves(
    pages: Pages, servicer: Servicer
) -> None:
    answer, lines = await streamed(pages, "/v3/watch", '{"create_request":{"key":"Zm9v"}}')
    assert answer.status == 200
    assert await anext(lines) == {"result": {"created": True}}
    assert await anext(lines) == {"result": {"events": [{"type": "DELETE"}]}}
    assert servicer.asked == [rpc.WatchRequest(create_request=rpc.WatchCreateRequest(key=b"foo"))]
    assert not servicer.left.is_set()
    assert not isinstance(answer.body, bytes)
    await answer.body.aclose()  # type: ignore[attr-defined]
    assert servicer.left.is_set()


async def test_a_stream_that_fails_ends_with_a_line(pages: Pages) -> None:
    _, lines = await streamed(pages, "/v3/watch", '{"create_request":{"key":"ZW5k"}}')
    *_, last = [each async for each in lines]
    assert last["error"]["code"] == 14
    assert last["error"]["message"] == "etcdserver: no leader"


async def test_a_stream_that_fails_at_once_is_a_refusal(pages: Pages) -> None:
    status, content = await asked(pages, "/v3/watch", '{"create_request":{"key":"bm9uZQ=="}}')
    assert (status, content["message"]) == (503, "etcdserver: no leader")


async def test_a_keep_alive_answers_each_request_and_ends(pages: Pages) -> None:
    _, lines = await streamed(pages, "/v3/lease/keepalive", '{"ID":"7"}{"ID":8}\n')
    assert [each async for each in lines] == [{"result": {"ID": "7"}}, {"result": {"ID": "8"}}]


async def test_the_version_has_digits_and_dots(pages: Pages) -> None:
    status, content = await asked(pages, "/version", method="GET")
    assert status == 200
    assert set(content) == {"etcdserver", "etcdcluster", "storage"}
    assert all(part.isdigit() for each in content.values() for part in each.split("."))


async def test_health_names_what_is_wrong(pages: Pages, servicer: Servicer) -> None:
    assert await asked(pages, "/health", method="GET") == (200, {"health": "true", "reason": ""})
    assert (await asked(pages, "/readyz?verbose", method="GET"))[1].splitlines() == [
        "[+]data_corruption ok",
        "[+]serializable_read ok",
        "[+]linearizable_read ok",
        "[+]non_learner ok",
        "ok",
    ]
    servicer.metadata = {"full": ""}
    assert await asked(pages, "/health", method="GET") == (
        503,
        {"health": "false", "reason": "ALARM NOSPACE"},
    )
    assert (await asked(pages, "/health?exclude=NOSPACE", method="GET"))[0] == 200
    servicer.metadata = {"leader": ""}
    assert (await asked(pages, "/health", method="GET"))[1]["reason"] == "RAFT NO LEADER"
    assert (await asked(pages, "/health?serializable=true", method="GET"))[0] == 200
    status, text = await asked(pages, "/readyz", method="GET")
    assert status == 503
    assert "[-]linearizable_read failed: RAFT NO LEADER" in text
    assert await asked(pages, "/livez", method="GET") == (200, "ok\n")
    assert (await asked(pages, "/livez/serializable_read", method="GET"))[0] == 200
    assert (await asked(pages, "/livez/stranger", method="GET"))[0] == 404
    assert (await asked(pages, "/health"))[0] == 405


async def test_metrics_are_text(pages: Pages) -> None:
    assert await asked(pages, "/metrics", method="GET") == (200, "etcd_server_has_leader 1\n")


def test_every_method_has_a_path_but_the_newest() -> None:
    served = {(service.full_name, name) for _, service, name in routes()}
    services = {service.full_name: service for _, service, _ in routes()}
    assert len(services) == 8
    declared = {
        (name, method.name) for name, service in services.items() for method in service.methods
    }
    assert declared - served == {("etcdserverpb.KV", "RangeStream")}


def test_the_refusal_of_a_handler_is_etcd_s() -> None:
    with pytest.raises(Rejected) as raised:
        errors.COMPACTED.refuse()
    assert raised.value.code == "OUT_OF_RANGE"
