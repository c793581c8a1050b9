"""The file's own words, as the floors below get them."""

from __future__ import annotations

from pathlib import Path

from quorate.config import Settings, load
from quorate.node import tuning


def settings(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "quorate.toml"
    path.write_text(text)
    return load(path, {}, {})


def test_times_of_the_file_are_milliseconds(tmp_path: Path) -> None:
    text = """
        [timing]
        heartbeat_ms = 20
        election_min_ms = 90
        election_max_ms = 170
        rest_ms = 500
        max_linger_ms = 7
        max_behind_ms = 30
        write_timeout_ms = 4000
        slow_write_ms = 250
    """
    found = tuning.shard_settings(settings(tmp_path, text))

    assert (found.timing.heartbeat_s, found.timing.election_min_s) == (0.02, 0.09)
    assert (found.timing.election_max_s, found.timing.news_s) == (0.17, 0.007)
    assert found.timing.rest_s == 0.5
    assert (found.linger_s, found.behind_s) == (0.007, 0.03)
    assert (found.write_timeout_s, found.slow_write_s) == (4.0, 0.25)


def test_shards_never_rest_after_no_time(tmp_path: Path) -> None:
    found = tuning.shard_settings(settings(tmp_path, "[timing]\nrest_ms = 0"))
    assert found.timing.rest_s == float("inf")


def test_a_log_keeps_the_tail_that_the_file_says(tmp_path: Path) -> None:
    text = """
        [storage]
        log_tail_entries = 12
        log_tail_bytes = 345
    """
    found = tuning.shard_settings(settings(tmp_path, text)).log

    assert (found.tail_entries, found.tail_bytes) == (12, 345)


def test_an_entry_and_a_stream_hold_the_largest_command_that_is_let_in(tmp_path: Path) -> None:
    largest = 40 << 20
    names = ("command_bytes", "effects_bytes", "grpc_message_bytes")
    given = settings(tmp_path, "\n".join(["[limits]", *(f"{name} = {largest}" for name in names)]))

    assert tuning.shard_settings(given).limits.entry_bytes > largest
    assert tuning.stream_limits(given).entry_bytes > largest
    # A small limit for commands makes no small entries: many of them share one.
    small = settings(tmp_path, f"[limits]\ncommand_bytes = {2 << 20}")
    assert tuning.shard_settings(small).limits.entry_bytes >= 8 << 20
