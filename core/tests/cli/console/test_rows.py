"""How the fields of rows are shown."""

from __future__ import annotations

import pytest
from quorate.builtin.tenant.quotas import QUOTAS
from quorate.cli.console.html import Bad, Moment, moment
from quorate.cli.console.rows import _fields, told
from quorate.plugin.resource import bind


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("created_at_ms", 1_795_861_190_123, Moment(1_795_861_190_123)),
        # A `fixed64`.
        ("created_at_ms", "1795861190123", Moment(1_795_861_190_123)),
        ("disconnected_at_ms", "0", ""),
        ("held_since_ms", 0, ""),
        ("seen_at_us", 1_795_861_190_123_456, Moment(1_795_861_190_123)),
        ("deleting_at_ms", None, None),
        ("ttl_ms", 10_000, 10_000),
        ("state", "failed", Bad("failed")),
        ("state", "running", "running"),
        ("id", "1795861190123", "1795861190123"),
    ],
)
def test_moments_and_bad_states_are_told(name: str, value: object, shown: object) -> None:
    assert told(name, value) == shown


def test_a_moment_after_the_year_9999_is_shown_as_its_number() -> None:
    assert "253402300800000 ms since 1970" in moment(253_402_300_800_000)


def test_a_list_is_asked_for_by_its_plain_fields() -> None:
    """With every release of protobuf that may be installed."""
    assert {"kind", "prefix"} & _fields(bind(QUOTAS)).keys()
    assert "page_size" not in _fields(bind(QUOTAS))
