"""Rows that are decoded at once are those that their table shows one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from struct import pack
from typing import Any

import pytest
from quorate.plugin import keys
from quorate.v1.kv_pb2 import Pair
from quorate.v1.view_pb2 import PackedRows
from quorate_mqtt.v1 import (
    acl_rules_pb2 as acl,
    sessions_pb2 as sessions,
    subscriptions_pb2 as subs,
)
from quorate_mqtt.v1.topics_pb2 import Topic
from quorate_offset.v1.rows_pb2 import Offset

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

Row = tuple[bytes, bytes]


def packed(rows: Sequence[Row]) -> PackedRows:
    def ends(parts: Sequence[bytes]) -> bytes:
        return pack(f"<{len(parts)}I", *accumulate(map(len, parts)))

    found = [key for key, _ in rows]
    stored = [pack(">Q", at) + value for at, (_, value) in enumerate(rows)]
    return PackedRows(
        keys=b"".join(found), key_ends=ends(found), rows=b"".join(stored), row_ends=ends(stored)
    )


def text(rng: random.Random, longest: int = 20) -> str:
    return "".join(rng.choice("ab/é✓ ") for _ in range(rng.randrange(longest)))


def number(rng: random.Random, bits: int = 63) -> int:
    return rng.choice([0, 1, 127, 128, (1 << bits) - 1, rng.getrandbits(bits)])


MADE: dict[str, Callable[[random.Random], Row]] = {
    "kv.pairs": lambda rng: (
        rng.randbytes(rng.randrange(1, 9)),
        Pair(
            value=rng.randbytes(rng.randrange(9)),
            ttl_ms=number(rng, 40),
            created_revision=number(rng),
        ).SerializeToString(),
    ),
    "mqtt.sessions": lambda rng: (
        keys.pack(text(rng), text(rng)),
        sessions.Session(
            expiry_interval_s=number(rng, 32), payload=rng.randbytes(rng.choice([0, 9, 300]))
        ).SerializeToString(),
    ),
    "mqtt.subscriptions": lambda rng: (
        keys.pack(text(rng), text(rng), text(rng)),
        subs.Subscription(
            qos=rng.randrange(3),
            no_local=rng.random() < 0.5,
            retain_handling=rng.randrange(4),  # type: ignore[arg-type]
            identifier=number(rng, 28),
            properties=rng.randbytes(rng.randrange(3)),
        ).SerializeToString(),
    ),
    "mqtt.topics": lambda rng: (
        keys.pack(text(rng), text(rng)),
        Topic(
            partitions=number(rng, 31),
            replication=3,
            description=text(rng),
            config={"segment_bytes": number(rng), "retention_s": number(rng)}
            if rng.random() < 0.7
            else None,
        ).SerializeToString(),
    ),
    "offset.offsets": lambda rng: (
        keys.pack(text(rng), text(rng), text(rng), number(rng, 32)),
        Offset(offset=number(rng), metadata=text(rng)).SerializeToString(),
    ),
}


def one_by_one(name: str, rows: Sequence[Row]) -> list[tuple[object, ...]]:
    from quorate_spark.source.tables import find

    return [find(name).table.from_row(*row) for row in rows]


def at_once(name: str, page: PackedRows, **options: Any) -> list[tuple[object, ...]]:
    from quorate_spark.source.decoding import Decoder
    from quorate_spark.source.tables import find

    batch = Decoder(find(name), **options).batch(page)
    batch.validate(full=True)
    return [tuple(row.values()) for row in batch.to_pylist()]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_the_table(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate_spark.source.decoding import Decoder

    # Nothing here is so unusual that it is decoded one by one.
    monkeypatch.delattr(Decoder, "_one_by_one")
    rng = random.Random(seed)
    rows = [MADE[name](rng) for _ in range(200)]

    assert at_once(name, packed(rows)) == one_by_one(name, rows)


def test_columns_that_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate_spark.source.decoding import Decoder
    from quorate_spark.source.tables import find

    rows = [MADE["mqtt.sessions"](random.Random(seed)) for seed in range(9)]
    page = packed(rows)
    expected = one_by_one("mqtt.sessions", rows)

    assert at_once("mqtt.sessions", page, names=["payload"]) == [row[3:] for row in expected]
    assert Decoder(find("mqtt.sessions"), ["tenant", "client_id"]).keys_only
    page.ClearField("rows")
    page.ClearField("row_ends")
    assert at_once("mqtt.sessions", page, names=["client_id"]) == [row[1:2] for row in expected]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(keys.pack("a\0b", "c"), b"")], id="a zero in a part of a key"),
        pytest.param([(keys.pack("a", "b"), b"\x18\x01\x18\x02")], id="a field that comes twice"),
        pytest.param([(keys.pack("a", "b"), b"\xc3\x3e\xc4\x3e")], id="a group"),
    ],
)
def test_what_is_unusual_is_decoded_all_the_same(rows: list[Row]) -> None:
    assert at_once("mqtt.sessions", packed(rows)) == one_by_one("mqtt.sessions", rows)


def test_rules_of_the_derived_tables() -> None:
    rule = acl.AclRule(tenant="t", name="n", action=1)  # type: ignore[arg-type]
    rows = [(keys.pack("t", "n"), rule.SerializeToString())]

    assert at_once("mqtt.acl_rules", packed(rows)) == one_by_one("mqtt.acl_rules", rows)


def test_every_table_that_says_it_is_plain_is() -> None:
    from quorate_spark.source.decoding import sources_of
    from quorate_spark.source.tables import installed_tables

    plain = {name for name, found in installed_tables().items() if found.table.plain}
    assert plain >= MADE.keys()
    for name in plain:
        found = installed_tables()[name]
        assert len(sources_of(found)) == len(found.table.columns)
