"""For whom the console keeps connections."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import pytest
from quorate.cli.console.cluster import Cluster
from quorate.cli.console.html import Page
from quorate.cli.console.site import ConsoleSite
from quorate.client import InvalidError, RejectedError
from quorate.observe.http import Request
from quorate.plugin.catalog import build
from quorate.plugin.discovery import installed
from quorate.v1 import admin_pb2


class Connection:
    """A client that knows its token, and whether it was closed."""

    def __init__(self, address: str, *, token: str, **_: Any) -> None:
        self.token = token
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def topology(self) -> admin_pb2.TopologyResponse:
        return admin_pb2.TopologyResponse(cluster_id=b"\x01")


def overview(_: Cluster, client: Connection, query: object) -> Page:
    assert not client.closed
    if client.token != "right":
        raise RejectedError("UNAUTHENTICATED", "the token is not known")
    return Page(title="Overview", tables=[])


def test_passwords_that_are_wrong_end_no_connection_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorate.client.Client", Connection)
    monkeypatch.setattr(Cluster, "overview", overview)
    catalog = build([each for each in installed() if each.distribution == "quorate"])
    site = ConsoleSite(catalog, "127.0.0.1:1", None)

    asked = ["right", *(f"wrong{number}" for number in range(40)), "", "right"]
    statuses = [site(Request("", {}, each)).status for each in asked]

    assert statuses == [HTTPStatus.OK, *[HTTPStatus.UNAUTHORIZED] * 41, HTTPStatus.OK]
    assert sorted(site._clients) == ["", "right"]


def test_a_page_that_renews_itself_asks_nobody_for_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorate.client.Client", Connection)
    monkeypatch.setattr(Cluster, "overview", overview)
    site = ConsoleSite(build([]), "127.0.0.1:1", None)
    people = site(Request("", {}, "ended", accept="text/html"))
    page = site(Request("", {}, "ended", accept="text/html; renewed"))

    assert people.status is page.status is HTTPStatus.UNAUTHORIZED
    assert "WWW-Authenticate" in people.headers
    assert "WWW-Authenticate" not in page.headers


def test_what_cannot_be_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Page:
        raise InvalidError("path", "'<b>' is no path")

    monkeypatch.setattr("quorate.client.Client", Connection)
    monkeypatch.setattr(Cluster, "overview", refuse)
    site = ConsoleSite(build([]), "127.0.0.1:1", None)
    answer = site(Request("", {}, ""))

    assert answer.status is HTTPStatus.BAD_REQUEST
    assert b"&lt;b&gt;&#x27; is no path" in answer.body


def test_a_connection_in_use_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, let = threading.Event(), threading.Event()

    def slow(_: Cluster, client: Connection, query: object) -> Page:
        if client.token == "operator":
            if busy.is_set():
                raise RejectedError("UNAUTHENTICATED", "a node does not know the token yet")
            busy.set()
            assert let.wait(20)
            assert not client.closed
        return Page(title="Overview", tables=[])

    monkeypatch.setattr("quorate.client.Client", Connection)
    monkeypatch.setattr(Cluster, "overview", slow)
    catalog = build([each for each in installed() if each.distribution == "quorate"])
    site = ConsoleSite(catalog, "127.0.0.1:1", None)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(site, Request("", {}, "operator"))
        assert busy.wait(20)
        for number in range(20):
            site(Request("", {}, f"other{number}"))
        assert site(Request("", {}, "operator")).status is HTTPStatus.UNAUTHORIZED
        let.set()
        assert answer.result().status is HTTPStatus.OK

    for number in range(8):
        site(Request("", {}, f"last{number}"))
    assert list(site._clients) == [f"last{number}" for number in range(8)]
