"""The keys of pairs, one level at a time."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from quorate.cli.console.pairs import link_to, pairs
from quorate.cli.console.tables import plain
from quorate.v1 import kv_pb2


class Asked:
    """A client of a cluster with some keys."""

    def __init__(self, *keys: bytes) -> None:
        self.keys = sorted(keys)
        self.calls = 0

    def call(self, _: str, request: kv_pb2.ListPairsRequest, *__: Any, **___: Any) -> Any:
        self.calls += 1
        found = [
            each for each in self.keys if each.startswith(request.prefix) and each >= request.start
        ]
        page, more = found[: request.page_size], found[request.page_size :]
        return kv_pb2.ListPairsResponse(
            pairs=[kv_pb2.KeyedPair(key=each, value=b"v") for each in page],
            next_page_token=page[-1] if more else b"",
        )


def shown(client: Any, **query: str) -> tuple[list[tuple[str, str]], Any]:
    page = pairs(client, query)
    [(_, rows)] = page.tables
    return [(plain(row["key"]), str(row["keys_below"])) for row in rows], page


def test_a_level_has_its_keys_and_counts_those_below() -> None:
    client = Asked(b"a", b"a/b", b"a/b/c", b"a/d/e", b"b/", b"c//x", b"z")

    assert shown(client)[0] == [("a", ""), ("a/", "3"), ("b/", "1"), ("c/", "1"), ("z", "")]
    assert shown(client, prefix="a/")[0] == [("a/b", ""), ("a/b/", "1"), ("a/d/", "1")]
    assert shown(client, prefix="b/")[0] == [("b/", "")]
    assert shown(client, prefix="c/")[0] == [("c//", "1")]
    rows, page = shown(client, prefix="x<b>")
    assert rows == []
    assert "No key begins with “x&lt;b&gt;”" in page.empty


def test_a_level_leads_to_those_above_it() -> None:
    _, page = shown(Asked(b"a/b/c"), prefix="a/b/")

    assert 'href="/console/pairs">all pairs</a>' in page.head
    assert 'href="/console/pairs?prefix=a%2F">a/</a>' in page.head
    assert 'prefix=a%2Fb%2F"' not in page.head
    assert "Above" not in shown(Asked(b"a"))[1].head


def test_keys_that_are_no_text_are_browsed_too() -> None:
    [(key, below)], page = shown(Asked(b"\xff/a"))
    link = page.tables[0][1][0]["key"]

    assert (key, below) == (r"\xff/", "1")
    assert shown(Asked(b"\xff/a"), **link.query)[0] == [("/y9h", "")]
    assert link_to(b"a/").query == {"prefix": "a/"}
    assert pairs(Asked(), {"prefix": "x", "hex": "yes"}).head == (  # type: ignore[arg-type]
        "<p>There is no such page of pairs.</p>"
    )


@pytest.mark.parametrize("count", [99, 100, 101, 250])
def test_a_level_is_shown_page_by_page(count: int) -> None:
    keys = [f"{number:04}/x/{each}".encode() for number in range(count) for each in range(2)]
    keys += [f"{number:04}".encode() for number in range(count)]
    client = Asked(*keys)
    found: list[tuple[str, str]] = []
    query: dict[str, str] = {}
    while True:
        rows, page = shown(client, **query)
        assert len(rows) <= 100
        found += rows
        if "More" not in page.foot:
            break
        query = {"page": unescape(page.foot).partition("page=")[2].partition('"')[0]}
    expected = [(f"{number:04}", "") for number in range(count)]
    expected += [(f"{number:04}/", "2") for number in range(count)]

    assert found == sorted(expected)


def test_a_million_keys_below_are_not_read() -> None:
    client = Asked(*(b"many/%07d" % number for number in range(10_000)), b"zz")

    assert shown(client)[0] == [("many/", "200 or more"), ("zz", "")]
    assert client.calls == 2


def test_a_page_of_long_levels_is_bounded_in_calls() -> None:
    keys = (b"%03d/%03d" % (folder, number) for folder in range(30) for number in range(201))
    rows, page = shown(client := Asked(*keys))

    assert (len(rows), client.calls) == (20, 20)
    assert "More" in page.foot
