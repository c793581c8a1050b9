"""Files that one entry puts in place, with the code that replicas run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from quorate.apply import file_sets
from quorate.apply.entries import LoggedCommand, revision_of
from quorate.apply.outcomes import FilesNeededError, Outcome
from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import FileLoad
from quorate.plugin.slots import BITMAP_BYTES, even_cut
from quorate.storage.engine.memory import write_file
from quorate.storage.events import EventLog, HistoryGoneError
from quorate.storage.rows import stored
from quorate.v1 import control_pb2, files_pb2 as pb

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

ROWS: Final = "tested.rows"
OLDS: Final = "tested.olds"
SCRIPT: Final = StringValue.DESCRIPTOR.full_name
NAME: Final = "load"


def settle(txn: Txn, counts: Mapping[str, int]) -> None:
    if "many" in counts:
        raise Rejected("LIMIT_REACHED", "too many")
    for name, items in counts.items():
        txn.put("tested.marks", name.encode(), b"%d" % items)


@pytest.fixture
def loading(machine: Machine) -> Machine:
    """A shard that owns its slots, and can load files of scripts."""
    machine.evaluate_with(replace(machine.program, file_loads={SCRIPT: FileLoad(settle=settle)}))
    machine.control(control_pb2.AdoptSlots(version=1, slots=even_cut(1)[0]))
    return machine


def refusal(outcome: Outcome) -> str:
    return "" if outcome.refusal is None else outcome.refusal.code


def opened(machine: Machine, name: str = NAME) -> pb.FileSet:
    outcome = machine.control(pb.OpenFileSet(name=name, command=SCRIPT), at_ms=77)
    assert outcome.refusal is None
    return pb.FileSet.FromString(outcome.reply)


def asked(*files: pb.SortedFile, name: str = NAME, **counts: int) -> pb.IngestFileSet:
    return pb.IngestFileSet(
        name=name,
        files=files,
        slots=bytes(BITMAP_BYTES),
        counts=[pb.ItemCount(name=each, items=items) for each, items in counts.items()],
    )


def file_of(
    folder: Path, revision: int, family: str, *keys: bytes, part: bytes = b""
) -> tuple[Path, pb.SortedFile]:
    path = folder / f"{family}-{b''.join(keys).hex()}"
    write_file(path, [(key, stored(revision, b"from file" + part)) for key in keys])
    ranges = [pb.KeyRange(first=keys[0], last=keys[-1])]
    return path, pb.SortedFile(
        family=family,
        digest=path.name.encode(),
        size=1,
        rows=len(keys),
        ranges=ranges,
        rows_digest=path.name.encode(),
    )


def command(message: Message) -> LoggedCommand:
    return LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString())


def ingest(machine: Machine, paths: Mapping[str, list[Path]], message: pb.IngestFileSet) -> Outcome:
    entry = machine.entry(command(message))
    [outcome] = machine.outcomes[entry.index]
    if outcome.refusal is None:
        machine.applier.prepared(pb.FileSet.FromString(outcome.reply), paths)
    machine.store(entry)
    return outcome


def test_rows_of_files_are_there_with_their_entry_and_not_before(
    loading: Machine, tmp_path: Path
) -> None:
    found = opened(loading)
    path, file = file_of(tmp_path, found.revision, ROWS, b"a", b"c")
    old_path, old_file = file_of(tmp_path, found.revision, OLDS, b"o")
    loading.do(["put", ROWS, "x", "other"])
    entry = loading.entry(command(asked(file, old_file, all=3)))
    with pytest.raises(FilesNeededError) as needed:
        loading.store(entry)
    assert needed.value.files.name == NAME
    assert loading.rows(ROWS).keys() == {b"x"}
    loading.applier.prepared(needed.value.files, {ROWS: [path], OLDS: [old_path]})
    loading.store(entry)
    assert loading.rows(ROWS)[b"a"] == stored(found.revision, b"from file")
    assert loading.rows(ROWS).keys() == {b"a", b"c", b"x"}
    assert loading.rows("tested.marks") == {b"all": b"3"}
    assert loading.counts()[OLDS] == 1
    [kept] = file_sets.all_sets(loading.data)
    assert (kept.state, kept.ingested_at, kept.rows) == (pb.FileSet.INGESTED, entry.index, 3)


def stage(machine: Machine, name: str = NAME, *files: pb.SortedFile, **counts: int) -> Outcome:
    message = asked(*files, name=name, **counts)
    message.stage = True
    return machine.control(message)


def close(machine: Machine, publication: int, name: str = NAME) -> Outcome:
    asked = pb.CloseFileSet(name=name, command=SCRIPT, publication=publication)
    return machine.control(asked)


def test_staged_files_come_with_the_publication_that_closed_the_shard(
    loading: Machine, tmp_path: Path
) -> None:
    found = opened(loading)
    path, file = file_of(tmp_path, found.revision, ROWS, b"a", b"c")
    assert refusal(close(loading, 7)) == "FAILED_PRECONDITION"
    assert refusal(stage(loading, NAME, file, many=2)) == "LIMIT_REACHED"
    assert refusal(stage(loading, NAME, file, all=2)) == ""
    assert refusal(stage(loading, NAME, file, all=2)) == ""
    assert refusal(loading.control(asked(file, all=2))) == "FAILED_PRECONDITION"
    # Nothing is closed: rows come and go.
    loading.do(["put", ROWS, "b", "other"])
    assert loading.rows("tested.marks") == {}
    loading.do(["delete", ROWS, "b"])

    assert refusal(close(loading, 7)) == ""
    assert refusal(close(loading, 7)) == ""
    assert refusal(close(loading, 8)) == "FAILED_PRECONDITION"
    assert refusal(loading.do(["put", ROWS, "b", "other"])) == "WRONG_SHARD"
    assert refusal(loading.control(pb.DropFileSet(name=NAME))) == "PUBLISHING"
    assert refusal(loading.control(control_pb2.ForgetSlots())) == "PUBLISHING"
    assert ROWS in loading.applier.published.closed
    # The next leader holds to it.
    loading.evaluator.begin()
    assert refusal(loading.do(["put", ROWS, "b", "other"])) == "WRONG_SHARD"

    # Another publication does not open it.
    other = pb.OpenPublished(name=NAME, publication=6, committed=True)
    assert refusal(loading.control(other)) == ""
    assert loading.applier.published.closing == 7
    entry = loading.entry(command(pb.OpenPublished(name=NAME, publication=7, committed=True)))
    [outcome] = loading.outcomes[entry.index]
    loading.applier.prepared(pb.FileSet.FromString(outcome.reply), {ROWS: [path]})
    loading.store(entry)
    assert loading.rows(ROWS).keys() == {b"a", b"c"}
    assert loading.rows("tested.marks") == {b"all": b"2"}
    assert loading.applier.published == pb.PublicationMark(number=7)
    again = pb.OpenPublished(name=NAME, publication=7, committed=True)
    assert refusal(loading.control(again)) == ""
    assert refusal(stage(loading, NAME, file, all=2)) == ""
    assert refusal(loading.do(["put", ROWS, "b", "other"])) == ""


def test_a_publication_that_is_aborted_leaves_what_was_staged(
    loading: Machine, tmp_path: Path
) -> None:
    found = opened(loading)
    _, file = file_of(tmp_path, found.revision, ROWS, b"a", b"c")
    assert refusal(stage(loading, NAME, file, all=2)) == ""
    before = loading.rows("core.file_sets")
    assert refusal(close(loading, 7)) == ""
    opening = pb.OpenPublished(name=NAME, publication=7)
    assert refusal(loading.control(opening)) == ""
    assert loading.rows("core.file_sets") == before
    assert loading.applier.published == pb.PublicationMark()
    assert refusal(loading.do(["put", ROWS, "b", "other"])) == ""
    assert refusal(close(loading, 8)) == "ROWS_EXIST"
    assert refusal(loading.do(["delete", ROWS, "b"])) == ""
    assert refusal(close(loading, 8)) == ""


def test_handlers_run_again_when_the_files_are_in_place(loading: Machine, tmp_path: Path) -> None:
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a")
    entry = loading.entry(command(asked(file)))
    ingests = [loading.evaluator.ingests]
    loading.applier.prepared(
        pb.FileSet.FromString(loading.outcomes[entry.index][0].reply), {ROWS: [path]}
    )
    loading.store(entry)
    ingests.append(loading.evaluator.ingests)
    assert ingests == [True, False]
    assert loading.read(["get", ROWS, "a"]) == ["from file"]


def test_an_ingest_is_an_entry_of_its_own(loading: Machine, tmp_path: Path) -> None:
    _, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a")
    put, take = loading.script(["put", ROWS, "x", "v"]), command(asked(file))
    first = loading.evaluator.evaluate(loading.logged + 1, [[put], [take], [put]], 0)
    assert (len(first.outcomes), first.ingests) == (1, False)
    second = loading.evaluator.evaluate(loading.logged + 1, [[take], [put]], 0)
    assert (len(second.outcomes), second.ingests) == (1, True)


def test_an_entry_with_files_is_stored_in_a_turn_of_its_own(
    loading: Machine, tmp_path: Path
) -> None:
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a")
    before = loading.entry(loading.script(["put", ROWS, "x", "v"]))
    entry = loading.entry(command(asked(file)))
    assert len(loading.store(before, entry)) == 1
    found = pb.FileSet.FromString(loading.outcomes[entry.index][0].reply)
    loading.applier.prepared(found, {ROWS: [path]})
    after = loading.entry(loading.script(["put", ROWS, "y", "v"]))
    assert len(loading.store(entry, after)) == 1
    assert len(loading.store(after)) == 1


def test_an_ingest_is_repeated_after_a_crash_before_its_entry_was_stored(
    loading: Machine, tmp_path: Path
) -> None:
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a", b"b")
    entry = loading.entry(command(asked(file)))
    found = pb.FileSet.FromString(loading.outcomes[entry.index][0].reply)
    loading.data.ingest({ROWS: [path]})
    loading.open()
    assert loading.data.applied == entry.index - 1
    loading.applier.prepared(found, {ROWS: [path]})
    loading.store(entry)
    assert loading.rows(ROWS).keys() == {b"a", b"b"}
    # Later entries count over them.
    loading.evaluate_with(replace(loading.program, file_loads={}))
    loading.do(["delete", ROWS, "a"])
    assert loading.rows(ROWS).keys() == {b"b"}


def test_the_same_files_are_put_in_place_once(loading: Machine, tmp_path: Path) -> None:
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a")
    first = ingest(loading, {ROWS: [path]}, asked(file, all=1))
    loading.do(["delete", ROWS, "a"])
    again = loading.control(asked(file, all=1))
    assert refusal(again) == ""
    assert again.reply == first.reply
    assert loading.rows(ROWS) == {}
    _, other = file_of(tmp_path, 1, ROWS, b"z")
    assert refusal(loading.control(asked(other))) == "OTHER_COMMAND"


@pytest.mark.parametrize("find_in", [None, lambda found, family, keys: keys[0]])
def test_rows_that_are_there_refuse_files(
    loading: Machine, tmp_path: Path, find_in: file_sets.FindInFiles | None
) -> None:
    loading.evaluate_with(loading.program, find_in_files=find_in)
    _, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a", b"c")
    loading.do(["put", ROWS, "b", "there"])
    outcome = loading.control(asked(file, all=2))
    assert refusal(outcome) == "ROWS_EXIST"
    assert loading.rows("tested.marks") == {}
    assert not loading.evaluator.ingests


def test_rows_between_those_of_files_stay(loading: Machine, tmp_path: Path) -> None:
    loading.evaluate_with(loading.program, find_in_files=lambda found, family, keys: None)
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a", b"c")
    loading.do(["put", ROWS, "b", "there"])
    assert refusal(ingest(loading, {ROWS: [path]}, asked(file))) == ""
    assert loading.rows(ROWS).keys() == {b"a", b"b", b"c"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (asked(name="unknown"), "NOT_FOUND"),
        (asked(), "INVALID_ARGUMENT"),
        (pb.IngestFileSet(name=NAME, files=[pb.SortedFile(family=ROWS)]), "INVALID_ARGUMENT"),
        (asked(*[pb.SortedFile(family=ROWS)] * 49), "FAILED_PRECONDITION"),
        (asked(pb.SortedFile(family=ROWS), many=1), "LIMIT_REACHED"),
    ],
)
def test_what_cannot_be_put_in_place_is_refused(
    loading: Machine, message: pb.IngestFileSet, code: str
) -> None:
    opened(loading)
    assert refusal(loading.control(message)) == code
    assert not loading.evaluator.ingests


def test_rows_of_slots_that_the_shard_does_not_own_are_refused(loading: Machine) -> None:
    opened(loading)
    loading.control(control_pb2.AdoptSlots(version=2, slots=even_cut(2)[0]))
    message = asked(pb.SortedFile(family=ROWS))
    message.slots = even_cut(2)[1]
    assert refusal(loading.control(message)) == "WRONG_SHARD"


def test_a_dropped_set_takes_no_files_any_more_until_it_is_forgotten(loading: Machine) -> None:
    found = opened(loading)
    loading.control(pb.DropFileSet(name=NAME))
    assert refusal(loading.control(asked(pb.SortedFile(family=ROWS)))) == "LOAD_ABORTED"
    again = pb.OpenFileSet(name=NAME, command=SCRIPT)
    assert refusal(loading.control(again)) == "LOAD_ABORTED"
    loading.control(pb.DropFileSet(name=NAME, forget=True))
    assert opened(loading).revision > found.revision


def test_a_set_is_opened_once(loading: Machine) -> None:
    found = opened(loading)
    assert (found.state, found.now_ms) == (pb.FileSet.OPEN, 77)
    assert found.revision == revision_of(loading.data.applied, 0)
    assert opened(loading) == found
    other = pb.OpenFileSet(name=NAME, command="other.Command")
    assert refusal(loading.control(other)) == "OTHER_LOAD"


def test_watches_of_the_family_list_its_rows_anew(loading: Machine, tmp_path: Path) -> None:
    path, file = file_of(tmp_path, opened(loading).revision, ROWS, b"a")
    before = loading.applier.revision
    ingest(loading, {ROWS: [path]}, asked(file))
    log = EventLog(loading.data)
    with pytest.raises(HistoryGoneError):
        log.read(before, {ROWS: b""}, max_rows=9, max_bytes=999)
    assert log.read(before, {OLDS: b""}, max_rows=9, max_bytes=999)[0] == []
    after = loading.applier.revision
    loading.do(["put", ROWS, "z", "v"])
    assert len(log.read(after, {ROWS: b""}, max_rows=9, max_bytes=999)[0]) == 1


def test_replicas_agree(
    loading: Machine, new_machine: Callable[..., Machine], tmp_path: Path
) -> None:
    entries = [
        loading.entry(command(control_pb2.AdoptSlots(version=2, slots=even_cut(1)[0]))),
        loading.entry(command(pb.OpenFileSet(name=NAME, command=SCRIPT))),
    ]
    loading.store(*entries)
    [found] = file_sets.all_sets(loading.data)
    path, file = file_of(tmp_path, found.revision, ROWS, b"a", b"b")
    entry = loading.entry(command(asked(file, all=2)))
    found = pb.FileSet.FromString(loading.outcomes[entry.index][0].reply)
    loading.applier.prepared(found, {ROWS: [path]})
    loading.store(entry)
    other = new_machine()
    other.control(control_pb2.AdoptSlots(version=1, slots=even_cut(1)[0]))
    other.store(*entries)
    other.applier.prepared(found, {ROWS: [path]})
    other.store(entry)
    assert other.digest() == loading.digest()
    assert other.applier.checksum_at() == loading.applier.checksum_at()
