"""Whether what was granted covers what is needed."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Access, keys
from quorate.plugin.access import Place, Right, Rights
from quorate.plugin.advanced import Grant, cluster_place, tenant_place
from quorate.v1.kv_pb2 import DeletePair, DeletePairs, GetPairsRequest
from quorate.v1.schema_pb2 import ListSchemas

ANY: Place = ("", "")


def rights(*grants: Grant) -> Rights:
    return Rights("ada", grants)


@pytest.mark.parametrize(
    ("grant", "domain", "right", "covers"),
    [
        (Grant(right="write", domain="kv"), "kv.pairs", "read", True),
        (Grant(right="write", domain="kv"), "kv.pairs", "write", True),
        (Grant(right="write", domain="kv"), "kv.pairs", "admin", False),
        (Grant(right="write", domain="kv.pairs"), "kv.pairs", "write", True),
        (Grant(right="write", domain="kv.pairs"), "kv", "write", False),
        (Grant(right="write", domain="kv.pairs"), "kv.others", "read", False),
        (Grant(right="write", domain="k"), "kv", "read", False),
        (Grant(right="read", domain="*"), "kv", "read", True),
        (Grant(right="read", domain="*"), "kv", "write", False),
        (Grant(right="write", domain="*"), "auth.users", "read", False),
        (Grant(right="write", domain="*"), "operations", "read", False),
        (Grant(right="admin", domain="*"), "auth.users", "write", True),
        (Grant(right="admin", domain="*"), "operations", "admin", True),
        (Grant(right="read", domain="auth"), "auth.users", "read", True),
        (Grant(right="admin", domain="*", tenant="acme"), "kv", "read", False),
        (Grant(right="admin", domain="*", prefix="a"), "kv", "read", False),
    ],
)
def test_a_grant_covers_domains(grant: Grant, domain: str, right: Right, covers: bool) -> None:
    assert rights(grant).covers(domain, right) is covers


@pytest.mark.parametrize(
    ("grant", "place", "reaches"),
    [
        (Grant(right="write", domain="mqtt", tenant="acme"), ("acme", "a"), True),
        (Grant(right="write", domain="mqtt", tenant="acme"), ("acme", ""), True),
        (Grant(right="write", domain="mqtt", tenant="acme"), ("bolt", "a"), False),
        (Grant(right="write", domain="mqtt", tenant="acme"), ANY, False),
        (Grant(right="write", domain="mqtt", prefix="a/"), ("acme", "a/b"), True),
        (Grant(right="write", domain="mqtt", prefix="a/"), ("acme", b"a/b"), True),
        (Grant(right="write", domain="mqtt", prefix="a/"), ("acme", "a"), False),
        (Grant(right="write", domain="mqtt", prefix="a/"), ANY, False),
        (Grant(right="write", domain="mqtt", prefix="a/"), ("acme", 7), False),
        (Grant(right="read", domain="mqtt", prefix="a/"), ("acme", "a/b"), False),
        (Grant(right="write", domain="mqtt", tenant="acme", prefix="a"), ("acme", "ab"), True),
        (Grant(right="write", domain="mqtt", tenant="acme", prefix="a"), ("bolt", "ab"), False),
    ],
)
def test_a_grant_reaches_places(grant: Grant, place: Place, reaches: bool) -> None:
    assert rights(grant).reaches("mqtt.topics", "write", place) is reaches


def test_no_grant_gives_no_right_but_to_be_known() -> None:
    nobody = rights()

    assert nobody.covers("kv", "identity")
    assert not nobody.some("kv", "read")


SHOP = Grant(right="write", domain="kv", prefix="shop/")
OF_ACME = Grant(right="read", domain="schema", tenant="acme")


@pytest.mark.parametrize(
    ("access", "request_", "lacks"),
    [
        (Access(right="write", key="key"), DeletePair(key=b"shop/1"), ""),
        (Access(right="write", key="key"), DeletePair(key=b"x"), "write on kv at b'x'"),
        (Access(right="write"), DeletePair(key=b"shop/1"), "write on kv"),
        (
            Access(right="write", items="pairs", key="key"),
            DeletePairs(pairs=[DeletePair(key=b"shop/1"), DeletePair(key=b"x")]),
            "write on kv at b'x'",
        ),
        (Access(right="write", items="pairs", key="key"), DeletePairs(), ""),
        (Access(right="admin", items="pairs", key="key"), DeletePairs(), "admin on kv"),
        (Access(right="read", items="keys"), GetPairsRequest(keys=[b"shop/1", b"shop/2"]), ""),
        (
            Access(right="read", items="keys"),
            GetPairsRequest(keys=[b"shop/1", b"x"]),
            "read on kv at b'x'",
        ),
        (Access(right="read", filtered=True), ListSchemas(), ""),
        (Access(right="read", domain="mqtt", filtered=True), ListSchemas(), "read on mqtt"),
        (Access(right="identity"), ListSchemas(), ""),
        (Access(right="read", domain="schema", tenant="tenant"), ListSchemas(tenant="acme"), ""),
        (
            Access(right="read", domain="schema", tenant="tenant"),
            ListSchemas(tenant="bolt"),
            "read on schema of tenant bolt",
        ),
        (Access(right="read", domain="schema", tenant="tenant"), ListSchemas(), "read on schema"),
        (
            Access(right="read", domain="schema", tenant="tenant", filtered=True),
            ListSchemas(),
            "",
        ),
        (
            Access(right="read", domain="schema", tenant="tenant", filtered=True),
            ListSchemas(tenant="bolt"),
            "read on schema of tenant bolt",
        ),
        (
            Access(right="write", places=lambda item: [("", item.key), ("", b"shop/")]),
            DeletePair(key=b"shop"),
            "write on kv at b'shop'",
        ),
    ],
)
def test_what_a_request_lacks_is_told_in_words(access: Access, request_: Any, lacks: str) -> None:
    assert rights(SHOP, OF_ACME).lacks(access, "kv", request_) == lacks


def test_the_place_of_a_row_is_in_its_key() -> None:
    assert tenant_place(keys.pack("acme", "a", 7)) == ("acme", "a")
    assert tenant_place(keys.pack("acme")) == ("acme", "")
    assert cluster_place(keys.pack("a", "b")) == ("", "a")
    assert cluster_place(b"") == ("", "")
