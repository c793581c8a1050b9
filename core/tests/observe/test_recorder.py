"""The flight recorder: what a file holds after whatever happened to its process."""

from __future__ import annotations

from pathlib import Path

import pytest
from quorate.observe.recorder import COMMITTED, PROPOSED, Record, Recorder, read

SIZE = 64 * 64


def commit(recorder: Recorder, index: int, shard: str = "toy/0", count: int = 1) -> None:
    recorder.entries(COMMITTED, shard, index=index, term=3, count=count, size=70)


def indexes(records: list[Record]) -> list[int]:
    return [each["index"] for each in records]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recorder"


def test_records_are_in_the_file_at_once(path: Path) -> None:
    recorder = Recorder(path, SIZE, clock=lambda: 1_700_000_000.5)
    recorder.entries(PROPOSED, "toy/1", index=7, term=3, count=1, size=70, text="a.Put*2,a.Cut")
    commit(recorder, 7, "toy/1")
    recorder.event("role", shard="toy/1", role="leader", leader="")

    [proposed, committed, role] = read(path)
    assert proposed == {
        "time": "2023-11-14T22:13:20.500000Z",
        "sequence": 1,
        "kind": "proposed",
        "shard": "toy/1",
        "index": 7,
        "term": 3,
        "count": 1,
        "bytes": 70,
        "commands": "a.Put*2,a.Cut",
    }
    assert (committed["kind"], committed["index"]) == ("committed", 7)
    assert role == {**role, "kind": "role", "role": "leader"}
    assert "leader" not in role


def test_the_oldest_are_overwritten_and_the_rest_stays_in_order(path: Path) -> None:
    recorder = Recorder(path, SIZE)
    for index in range(1, 1_001):
        commit(recorder, index)
        if index % 10 == 0:
            recorder.event("call", request=f"r{index}", method="/a.very.long/name" * 4)

    found = read(path)
    newest = indexes([each for each in found if each["kind"] == COMMITTED])
    assert newest == list(range(newest[0], 1_001))
    assert 20 < len(newest) < 64
    assert [each["sequence"] for each in found] == sorted(each["sequence"] for each in found)
    assert path.stat().st_size == SIZE


def test_a_process_that_begins_again_continues(path: Path) -> None:
    commit(Recorder(path, SIZE), 1)
    again = Recorder(path, SIZE)
    commit(again, 2)
    again.close()
    commit(again, 3)

    assert indexes(read(path)) == [1, 2]
    commit(Recorder(path, 2 * SIZE), 4)
    assert indexes(read(path)) == [4]


@pytest.mark.parametrize("place", [64, 70, 100, 128 + 30])
def test_a_damaged_record_is_left_out_and_the_others_are_read(path: Path, place: int) -> None:
    recorder = Recorder(path, SIZE)
    for index in (1, 2, 3):
        commit(recorder, index)
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)

    damaged = 1 + (place - 64) // 64
    assert indexes(read(path)) == [index for index in (1, 2, 3) if index != damaged]


def test_records_are_found_by_what_they_are_about(path: Path) -> None:
    recorder = Recorder(path, SIZE)
    commit(recorder, 5, count=3)
    commit(recorder, 8)
    commit(recorder, 5, "toy/1")
    recorder.event("call", request="r1")
    recorder.event("slow write", requests=["r0", "r1"], shard="toy/1")
    recorder.event("call", request="r11")

    assert indexes(read(path, shard="toy/0", index=7)) == [5]
    assert indexes(read(path, shard="toy/1", kinds=[COMMITTED])) == [5]
    assert [each["kind"] for each in read(path, request="r1")] == ["call", "slow write"]
    assert [each["kind"] for each in read(path, last=2)] == ["slow write", "call"]
    assert recorder.read(request="r1") == read(path, request="r1")


def test_records_that_are_looked_up_are_those_of_the_whole_file(path: Path) -> None:
    recorder = Recorder(path, SIZE)
    for number in range(400):
        # Of many lengths, so that new ones begin and end within old ones.
        recorder.event(f"kind {number % 3}", request=f"r{number % 7}", text="x" * (number % 200))
        commit(recorder, number)
    whole = read(path)

    assert len(whole) < 400
    for kind in ("kind 0", "kind 2", "kind"):
        assert read(path, kinds=[kind]) == [each for each in whole if each["kind"] == kind]
    assert read(path, kinds=["kind 1", COMMITTED]) == [
        each for each in whole if each["kind"] in ("kind 1", COMMITTED)
    ]
    assert read(path, request="r3") == [each for each in whole if each.get("request") == "r3"]


def test_a_storm_of_events_leaves_room_and_is_counted(path: Path) -> None:
    now = [100.0]
    recorder = Recorder(path, 1 << 16, clock=lambda: now[0])
    commit(recorder, 1)
    for _ in range(5_000):
        recorder.event("failed", reason="RESOURCE_EXHAUSTED")
    recorder.event("role", role="leader")
    now[0] = 101.0
    recorder.event("failed", reason="LATER")

    found = read(path)
    assert indexes(found[:1]) == [1]
    assert [each["kind"] for each in found[1:]] == ["failed"] * 100 + ["role", "failed"]
    assert found[-1]["omitted before"] == 4_900


def test_long_texts_are_cut_and_what_is_too_much_is_left_out(path: Path) -> None:
    recorder = Recorder(path, 1 << 16)
    recorder.event("alarm", alarm="x" * 10_000)
    recorder.event("members", voters={str(number): True for number in range(10_000)})
    recorder.entries(PROPOSED, "toy/0", index=1, term=1, count=1, size=1, text="n" * 10_000)

    alarm, members, proposed = read(path)
    assert alarm["alarm"] == "x" * 500
    assert members.keys() == {"time", "sequence", "kind"}
    assert proposed["commands"] == "n" * 500


def test_other_files_are_refused(path: Path) -> None:
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a flight recorder"):
        read(path)


def test_where_there_is_no_room_there_is_no_recorder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Recorder(tmp_path / "none" / "recorder", SIZE)
