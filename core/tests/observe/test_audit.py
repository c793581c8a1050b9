"""What the audit log writes, renames, loses and shows."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest
from quorate.observe import audit
from quorate.observe.audit import AuditError, AuditLog, LaggingError


def opened(path: Path, *, largest: int = 1 << 20, kept: int = 2) -> AuditLog:
    return AuditLog(path, largest=largest, kept=kept, node="n1")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_is_a_line_with_its_time_node_and_number(tmp_path: Path) -> None:
    log = opened(tmp_path / "audit.jsonl")
    log.write({"action": "put"})
    log.write({"action": "line\nbreak"})
    log.close()

    first, second = records(tmp_path / "audit.jsonl")
    assert list(first) == ["time", "node", "sequence", "action"]
    assert (first["node"], first["sequence"], second["sequence"]) == ("n1", 1, 2)
    assert first["time"].endswith("Z")
    assert second["action"] == "line\nbreak"


def test_only_the_user_of_the_node_may_read_it(tmp_path: Path) -> None:
    opened(tmp_path / "audit.jsonl").close()
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    for action in ("first", "second"):
        log = opened(tmp_path / "audit.jsonl")
        log.write({"action": action})
        log.close()
    assert [each["action"] for each in records(tmp_path / "audit.jsonl")] == ["first", "second"]


def test_a_full_file_is_renamed_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for number in range(4):
        log = opened(path, largest=1)
        log.write({"action": number})
        log.close()

    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
    ]
    assert path.read_text() == ""
    assert [records(tmp_path / f"audit.jsonl.{age}")[0]["action"] for age in (1, 2)] == [3, 2]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"nowhere/audit.jsonl cannot be written: .*audit.file"):
        opened(tmp_path / "nowhere" / "audit.jsonl")


def test_what_the_disk_refuses_is_counted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path / "audit.jsonl")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(AuditLog, "_write_run", full)
        log.write({"action": "a"})
        log.write({"action": "b"})
        log.close()

    assert (log.made, log.lost) == (2, 2)
    [logged] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "No space left on device" in logged.getMessage()


def test_what_comes_faster_than_the_disk_is_lost_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MOST_WAITING", 1)
    log = opened(tmp_path / "audit.jsonl")
    for number in range(1_000):
        log.write({"action": number})
    log.close()

    written = records(tmp_path / "audit.jsonl")
    assert log.lost > 0
    assert len(written) + log.lost == log.made == 1_000


async def test_a_follower_gets_the_records_from_then_on(tmp_path: Path) -> None:
    log = opened(tmp_path / "audit.jsonl")
    log.write({"action": "before"})
    follower = log.follow()
    log.write({"action": "after"})

    [found] = await follower.next()
    assert found["action"] == "after"
    waiting = asyncio.create_task(follower.next())
    await asyncio.sleep(0)
    log.end_following()
    assert await waiting == []
    log.write({"action": "unseen"})
    log.close()
    assert len(records(tmp_path / "audit.jsonl")) == 3


async def test_a_slow_follower_is_ended_and_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MOST_FOLLOWED", 3)
    log = opened(tmp_path / "audit.jsonl")
    follower = log.follow()
    for number in range(10):
        log.write({"action": number})

    with pytest.raises(LaggingError):
        await follower.next()
    follower.close()
    log.close()
