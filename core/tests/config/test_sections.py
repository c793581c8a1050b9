from typing import Any

import pytest
from quorate.config import (
    LimitsSection,
    TimingSection,
    is_loopback,
    join_address,
    load,
    split_address,
)


def test_defaults_are_those_of_the_design() -> None:
    settings = load(None, {}, {})
    assert settings.node.address == "127.0.0.1:7401"
    assert settings.node.http_address == "127.0.0.1:7501"
    assert settings.storage.block_cache_bytes == 64 * 1024**2
    assert (settings.storage.log_tail_entries, settings.storage.log_tail_bytes) == (
        10_000,
        256_000_000,
    )
    assert settings.timing.model_dump() == {
        "heartbeat_ms": 100,
        "election_min_ms": 500,
        "election_max_ms": 1_000,
        "max_linger_ms": 3,
        "rest_ms": 200,
        "max_behind_ms": 25,
        "write_timeout_ms": 30_000,
        "slow_write_ms": 1_000,
    }
    assert settings.limits.model_dump() == {
        "key_bytes": 4_096,
        "value_bytes": 1_048_576,
        "command_bytes": 4_194_304,
        "grpc_message_bytes": 16_777_216,
        "effects_bytes": 16_777_216,
        "reply_bytes": 4_194_304,
        "batch_items": 10_000,
        "named_sessions": 10_000,
        "stream_commands": 10_000,
        "stream_bytes": 16_777_216,
        "connections": None,
        "streams_per_connection": 10_000,
        "open_calls": 20_000,
        "open_watches": 10_000,
        "open_views": 256,
        "inflight_bytes": None,
        "idle_connection_s": 600,
        "slow_reader_s": 60,
    }


def test_what_is_not_set_follows_from_files_and_from_other_limits() -> None:
    limits = LimitsSection()
    assert [limits.most_connections(files) for files in (1, 1_024, 65_536)] == [1, 512, 10_000]
    assert limits.most_inflight_bytes() == 64 << 20
    assert LimitsSection(grpc_message_bytes=64 << 20).most_inflight_bytes() == 256 << 20


def test_bounds_are_set_and_taken_away_by_numbers() -> None:
    limits = LimitsSection(connections=7, inflight_bytes=32 << 20)
    assert (limits.most_connections(2), limits.most_inflight_bytes()) == (7, 32 << 20)
    off = LimitsSection(connections=0, inflight_bytes=0, open_calls=0, idle_connection_s=0)
    assert (off.most_connections(1_024), off.most_inflight_bytes()) == (0, 0)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("127.0.0.1:7401", ("127.0.0.1", 7401)),
        ("q1.example:1", ("q1.example", 1)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_addresses_split_and_join(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts
    assert join_address(*parts) == address


@pytest.mark.parametrize(
    "address",
    ["", "a", ":1", "a:", "a:0", "a:65536", "a:-1", "a:+1", "a:²", "::1:7401", "[x]:1", "a b:1"],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"must be host:port|brackets"):
        split_address(address)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost.example", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("timing", "is_cautioned"),
    [
        ({}, False),
        ({"heartbeat_ms": 250, "election_min_ms": 299}, True),
        ({"heartbeat_ms": 100, "election_min_ms": 299}, True),
        ({"heartbeat_ms": 100, "election_min_ms": 300}, False),
        ({"heartbeat_ms": 100, "election_min_ms": 100}, True),
    ],
)
def test_tight_timing_is_accepted_with_a_caution(
    timing: dict[str, Any], is_cautioned: bool
) -> None:
    caution = TimingSection(**timing).caution
    assert (caution is not None) is is_cautioned
    if caution is not None:
        assert str(timing["election_min_ms"]) in caution
