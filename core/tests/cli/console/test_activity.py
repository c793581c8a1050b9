"""The pages about rates, slow writes and changes of a row."""

from __future__ import annotations

import pytest
from quorate.cli.activity import Activity
from quorate.cli.audit import key_of
from quorate.cli.console.activity import ActivityPages, _slow, query_of
from quorate.cli.console.cluster import _timers
from quorate.cli.console.html import Bad
from quorate.plugin import keys


@pytest.mark.parametrize(
    "key",
    [
        b"jobs/1",
        b"[1]",
        b"\x00\xff",
        keys.pack("acme", "sink", 7),
        keys.pack("acme", b"\xff\xfe"),
        keys.pack("ä", '"'),
    ],
)
def test_a_key_is_asked_for_as_it_is(key: bytes) -> None:
    query = query_of(key)

    assert key_of(query["key"], bool(query.get("hex"))) == key


def test_rates_are_of_the_newest_moment_that_is_long_enough_ago() -> None:
    pages = ActivityPages()

    def before(at_s: float) -> float | None:
        found = pages._before(Activity(at_s=at_s, samples={}))
        return None if found is None else found.at_s

    assert [before(at_s) for at_s in (0, 3, 6, 12, 15, 100)] == [None, 0, 0, 0, 3, None]


def test_the_longest_stage_of_a_slow_write_is_marked() -> None:
    record = {"time": "t", "shard": "kv/0", "ms": 9, "queue ms": 1, "apply ms": 7}

    row = _slow("n1", record)
    assert (row["node"], row["ms"], row["queue ms"], row["apply ms"]) == ("n1", 9, 1, Bad(7))


def test_of_each_timer_the_next_deadline_of_all_nodes_is_shown_and_a_late_one_marked() -> None:
    texts: dict[str, str | OSError] = {
        "n1": 'quorate_timer_next_seconds{timer="expiry"} 30\n',
        "n2": 'quorate_timer_next_seconds{timer="expiry"} 7\n'
        'quorate_timer_next_seconds{timer="wills"} -60\n',
        "n3": OSError("refused"),
    }

    assert list(_timers(texts)) == [
        {"timer": "expiry", "due": "in 7 s", "node": "n2"},
        {"timer": "wills", "due": Bad("60 s ago"), "node": "n2"},
    ]
