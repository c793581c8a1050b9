from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from quorate.consensus.timing import Timing
from quorate.testing.replica_process.settings import Settings


def test_a_command_line_says_all_that_there_is_to_say() -> None:
    plain = Settings(
        node="a",
        addresses={"a": "127.0.0.1:1", "b": "127.0.0.1:2"},
        initial_members=(),
        directory=Path("a"),
    )
    changed = Settings(
        node="b",
        addresses={"b": "127.0.0.1:2"},
        initial_members=("a", "b"),
        directory=Path("b"),
        token="another",
        fsync=False,
        marks=True,
        timing=Timing(heartbeat_s=0.01, election_min_s=0.02, election_max_s=0.04),
        tail_entries=5,
        margin_bytes=6,
        deviant=True,
        stops=True,
    )
    for each in fields(Settings):
        assert getattr(plain, each.name) != getattr(changed, each.name), each.name
    for settings in (plain, changed):
        assert Settings.parse(settings.arguments()) == settings
