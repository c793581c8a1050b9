"""Checks the checker: a plugin that keeps every promise passes, and each breach is found."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet, UninterpretedOption
from google.protobuf.message import Message
from quorate.plugin import Access, Command, Items, Rejected, Txn, keys
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.catalog import Catalog
from quorate.plugin.problems import PluginErrors, PluginProblem
from quorate.plugin.wire import golden_of
from quorate.storage.engine.port import Batch
from quorate.testing import PluginConformance, logs, subject
from quorate.testing.shard import Entry, MemoryShard, Outcome
from quorate.testing.vocabulary import files_of
from quorate.v1.batch_pb2 import BatchReply

CHECKS = [name for name, _ in inspect.getmembers(PluginConformance) if name.startswith("test_")]
V1 = "kit_sample.v1"
OTHERS_KEY = keys.pack("somebody else")

Break = Callable[[Catalog], Catalog]


class Wrong(Exception):
    """A check has failed; the text is the sentence that an author would read."""


def run_check(check: str, catalog: Catalog, **attributes: Any) -> None:
    named = {"__module__": __name__, "plugin": "sample", "catalog": catalog}
    kind = type("TestSample", (PluginConformance,), {**named, **attributes})
    try:
        getattr(kind(), check)()
    except (AssertionError, pytest.fail.Exception) as error:
        raise Wrong(str(error)) from error


@pytest.fixture
def golden(plugins_on_path: None, tmp_path: Path) -> str:
    path = tmp_path / "sample.binpb"
    path.write_bytes(golden_of(files_of([V1])))
    return str(path)


@pytest.mark.parametrize("check", CHECKS)
def test_a_plugin_that_keeps_its_promises_passes(check: str, catalog: Catalog, golden: str) -> None:
    run_check(check, catalog, golden=golden)


def handled(name: str, apply: Callable[[Txn, Any], Any]) -> Break:
    """Put another handler in the place of a command's own."""

    def change(catalog: Catalog) -> Catalog:
        full_name = f"{V1}.{name}"
        route = replace(catalog.routes[full_name], apply=apply)
        return replace(catalog, routes={**catalog.routes, full_name: route})

    return change


def declared(**changes: Callable[[Any], Any]) -> Break:
    """Change what the plugin declares, kind by kind."""

    def change(catalog: Catalog) -> Catalog:
        sample = catalog.declared["sample"]
        changed = {name: of(getattr(sample, name)) for name, of in changes.items()}
        former = [each for name in changes for each in getattr(sample, name)]
        kept = [each for each in sample.all if all(each is not other for other in former)]
        controllers = changed.get("controllers", sample.controllers)
        commands: Sequence[Command[Any]] = changed.get("commands", sample.commands)
        queries = changed.get("queries", sample.queries)
        return replace(
            catalog,
            declared={"sample": replace(sample, all=(*kept, *chain(*changed.values())))},
            commands={each.message.DESCRIPTOR.full_name: each for each in commands},
            controllers={each.name: each for each in controllers},
            queries={each.message.DESCRIPTOR.full_name: each for each in queries},
        )

    return change


def with_first(**changes: Any) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return lambda items: (replace(items[0], **changes), *items[1:])


class ReadNotes:
    """What is read of a batch of notes."""

    def __init__(self, command: Any) -> None:
        self.command = command
        self.keys = [keys.pack(note.owner) for note in command.notes]
        self.shard_keys = self.keys

    def apply(self, txn: Txn) -> BatchReply:
        for key, note in zip(self.keys, self.command.notes, strict=True):
            txn.put("sample.notes", key, note.SerializeToString())
        return BatchReply(items=len(self.keys))


class MisreadNotes(ReadNotes):
    def __init__(self, command: Any) -> None:
        super().__init__(command)
        self.shard_keys = self.keys[::-1]


def reads(read: Callable[[Any], Any]) -> Break:
    def of_notes(commands: tuple[Any, ...]) -> tuple[Any, ...]:
        first, batch, *others = commands
        return first, replace(batch, items=replace(batch.items, read=read)), *others

    return declared(commands=of_notes)


def meddle(shard: MemoryShard) -> None:
    """Store one row more, as no handler does."""
    meddled = shard.data.iterate("sample.sizes", b"meddled", b"meddlee")
    shard.load([("sample.sizes", b"meddled %d" % len(list(meddled)), b"")])


def swallow_undeclared(txn: Txn, _: Any) -> None:
    try:
        txn.get("other.rows", b"k")
    except Exception:  # noqa: BLE001 - a plugin that hides what it is told
        return


class Memory:
    """State that is in no column family."""

    def __init__(self) -> None:
        self.seen = 0

    def count(self, txn: Txn, command: Any) -> None:
        self.seen += 1
        txn.put("sample.sizes", keys.pack(command.owner), str(self.seen).encode())

    def remember_refusals(self, txn: Txn, command: Any) -> None:
        if command.owner == "nobody":
            self.seen += 1
            raise Rejected("NOT_FOUND")
        txn.put("sample.sizes", keys.pack(0, command.owner), str(self.seen).encode())

    def remember_empty_owners(self, txn: Txn, command: Any) -> None:
        if not command.owner:
            self.seen += 1
            raise KeyError("owner")
        txn.put("sample.sizes", keys.pack(command.owner), str(self.seen).encode())


def leave(txn: Txn, command: Any) -> None:
    if not command.owner:
        sys.exit("no owner")


def fail_for_good(txn: Txn, command: Any) -> Message:
    if not all(note.owner for note in command.notes):
        raise MemoryError
    reply: Any = import_module("quorate.v1.batch_pb2").BatchReply
    return reply(items=len(command.notes))  # type: ignore[no-any-return]


def write_no_note(txn: Txn, command: Any) -> None:
    txn.put("sample.notes", keys.pack(command.owner), b"no note")


def write_backwards(txn: Txn, command: Any) -> None:
    """Write the fields of a note in an order that only some encoders choose."""
    note = import_module(f"{V1}.notes_pb2").Note
    first, second = note(owner=command.owner), note(text="t")
    encoded = second.SerializeToString() + first.SerializeToString()
    txn.put("sample.notes", keys.pack(command.owner), encoded)


def write_the_end(txn: Txn, command: Any) -> None:
    end_ms = txn.proposed_at_ms + command.ttl_ms
    txn.put("sample.sizes", keys.pack(command.owner), end_ms.to_bytes(8, "big", signed=True))


def listing(rows: Callable[[Any], Iterable[str]], **changes: Any) -> Break:
    """Let the query answer with notes of these owners."""

    def answer(reader: Any, query: Any) -> Iterable[Any]:
        note = import_module(f"{V1}.notes_pb2").Note
        return (note(owner=owner) for owner in rows(reader))

    return declared(queries=with_first(run=answer, **changes))


def splicing(answers: Sequence[bytes], **changes: Any) -> Break:
    """Let the query answer with what is said to be notes in their wire form."""

    def change(catalog: Catalog) -> Catalog:
        note = import_module(f"{V1}.notes_pb2").Note
        made = with_first(run=lambda *_: list(answers), row=note, order=None, **changes)
        return declared(queries=made)(catalog)

    return change


def read_strangers(reader: Any) -> list[str]:
    reader.get("other.rows", b"k")
    return []


def hide_strangers(reader: Any) -> list[str]:
    with suppress(UndeclaredFamilyError):
        reader.scan("other.rows", b"", b"\xff", limit=1)
    return []


def scan_all(reader: Any) -> list[str]:
    return [str(row.key) for row in reader.scan("sample.notes", b"", b"\xff", limit=1 << 40)]


def one_item_short(txn: Txn, command: Any) -> Message:
    reply: Any = import_module("quorate.v1.batch_pb2").BatchReply
    return reply(items=len(command.notes) - 1)  # type: ignore[no-any-return]


def first_item_only(txn: Txn, command: Any) -> Message:
    reply: Any = import_module("quorate.v1.batch_pb2").BatchReply(items=len(command.notes))
    for item in range(1, len(command.notes)):
        reply.refusals.add(item=item, code="LATE")
    return reply  # type: ignore[no-any-return]


def not_kept_up(catalog: Catalog) -> Catalog:
    class Deaf:
        def __init__(self) -> None:
            self.rows: set[bytes] = set()

        def reset(self) -> None:
            self.rows.clear()

        def put(self, family: str, key: bytes, row: bytes) -> None:
            self.rows.add(key)

        def delete(self, family: str, key: bytes) -> None:
            """Forget nothing."""

    cache = replace(catalog.caches["sample.texts"], factory=Deaf)
    return replace(declared(caches=lambda _: (cache,))(catalog), caches={cache.name: cache})


async def write_directly(node: Any, shard: Any) -> None:
    meddle(node.replicas.of("sample")[0])


async def propose_for_ever(node: Any, shard: Any) -> None:
    pb = import_module(f"{V1}.notes_pb2")
    await node.propose(pb.WriteNote(owner=f"owner {len(node.proposals)}"), pb.Note)


async def propose_what_is_there(node: Any, shard: Any) -> None:
    pb = import_module(f"{V1}.notes_pb2")
    reply = import_module("quorate.v1.batch_pb2").BatchReply
    await node.propose(pb.WriteNotes(notes=[pb.WriteNote(owner="z", ttl_ms=0)]), reply)


def not_encodable(catalog: Catalog) -> Catalog:
    unfinished = UninterpretedOption.NamePart
    command = replace(
        catalog.commands[f"{V1}.WriteNote"], message=unfinished, examples=(unfinished(),)
    )
    return declared(commands=lambda _: (command,))(catalog)


def placed_by(shard_key: Callable[[bytes], bytes] | None) -> Break:
    """Let the rows of notes belong elsewhere."""

    def change(catalog: Catalog) -> Catalog:
        notes = replace(catalog.families["sample.notes"], shard_key=shard_key)
        return replace(catalog, families={**catalog.families, "sample.notes": notes})

    return change


def reject(code: str) -> None:
    raise Rejected(code)


def refuse_each(command: Any) -> Message:
    reply: Any = import_module("quorate.v1.batch_pb2").BatchReply(items=len(command.notes))
    for item in range(len(command.notes)):
        reply.refusals.add(item=item, code="FULL", message="no room")
    return reply  # type: ignore[no-any-return]


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def refuse(_: Any) -> None:
    raise ValueError("no such owner")


BREACHES: list[tuple[str, Break, str]] = [
    (
        "test_the_catalog_builds",
        declared(families=with_first(name="stranger.notes")),
        "column family stranger.notes is not named after the plugin",
    ),
    (
        "test_commands_have_examples",
        declared(commands=with_first(examples=())),
        "the commands ['kit_sample.v1.WriteNote'] have no examples",
    ),
    (
        "test_examples_survive_the_wire",
        not_encodable,
        "google.protobuf.UninterpretedOption.NamePart cannot be encoded and decoded",
    ),
    (
        "test_examples_are_valid",
        declared(commands=with_first(validate=refuse)),
        "validate refuses the kit_sample.v1.WriteNote: ValueError('no such owner')",
    ),
    (
        "test_examples_are_valid",
        declared(commands=with_first(shard_key=lambda command: command.owner)),
        "the shard key of the kit_sample.v1.WriteNote is not bytes: {'ada'}",
    ),
    (
        "test_what_callers_need_is_found_in_examples",
        declared(commands=with_first(access=Access(right="write", key="town"))),
        "access of the kit_sample.v1.WriteNote cannot be determined: AttributeError('town')",
    ),
    (
        "test_what_admins_alone_may_use_is_meant_for_them",
        declared(commands=with_first(access=None)),
        "only admins may use kit_sample.v1.WriteNote: give the command, or the method",
    ),
    (
        "test_examples_meet_no_bug",
        handled("EraseNote", lambda txn, _: vars(Memory)["owner"]),
        "command kit_sample.v1.EraseNote failed at index 4 with KeyError: 'owner'",
    ),
    (
        "test_what_is_read_of_a_batch_is_executed_as_its_message_is",
        reads(lambda _: None),
        "`read` reads no kit_sample.v1.WriteNotes of the log: give one",
    ),
    (
        "test_what_is_read_of_a_batch_is_executed_as_its_message_is",
        reads(MisreadNotes),
        "what `read` reads of kit_sample.v1.WriteNotes has other keys than its items",
    ),
    (
        "test_what_is_read_of_a_batch_is_executed_as_its_message_is",
        reads(ReadNotes),
        "what `read` reads of kit_sample.v1.WriteNotes has another outcome than its message",
    ),
    (
        "test_a_command_writes_only_its_own_shard_key",
        placed_by(None),
        "WriteNote writes key ('ada',) of sample.notes, whose shard key b'' is none of its own",
    ),
    (
        "test_every_command_is_accepted_once",
        handled("EraseNote", lambda txn, _: reject("NEVER")),
        "every kit_sample.v1.EraseNote of the log was refused (NEVER); nothing is known",
    ),
    (
        "test_every_command_is_accepted_once",
        handled("WriteNotes", lambda txn, command: refuse_each(command)),
        "every kit_sample.v1.WriteNotes of the log was refused (FULL: no room); nothing is",
    ),
    (
        "test_handlers_keep_their_budget",
        handled("EraseNote", lambda txn, _: spin(0.15)),
        "a handler has 5 ms, and these took much longer at best: kit_sample.v1.EraseNote 15",
    ),
    (
        "test_the_largest_numbers_meet_no_bug",
        handled("WriteNote", write_the_end),
        "ttl_ms = 9223372036854775807 of kit_sample.v1.WriteNote is for validate to refuse: ",
    ),
    (
        "test_the_largest_numbers_meet_no_bug",
        handled("WriteNotes", lambda txn, command: write_the_end(txn, command.notes[-1])),
        "notes[6].ttl_ms = 9223372036854775807 of kit_sample.v1.WriteNotes is for validate to",
    ),
    (
        "test_only_declared_families_are_touched",
        handled("EraseNote", lambda txn, _: txn.put("other.rows", b"k", b"")),
        "kit_sample.v1.EraseNote touches what it does not declare: column family other.rows",
    ),
    (
        "test_only_declared_families_are_touched",
        handled("EraseNote", swallow_undeclared),
        "kit_sample.v1.EraseNote touches what it does not declare: column family other.rows",
    ),
    (
        "test_a_command_writes_only_its_own_shard_key",
        handled("EraseNote", lambda txn, _: txn.put("sample.notes", OTHERS_KEY, b"")),
        "kit_sample.v1.EraseNote writes key ('somebody else',) of sample.notes, whose",
    ),
    (
        "test_a_command_writes_only_its_own_shard_key",
        handled("EraseNote", lambda txn, _: txn.delete("sample.notes", OTHERS_KEY)),
        "kit_sample.v1.EraseNote writes key ('somebody else',) of sample.notes, whose",
    ),
    (
        "test_a_command_writes_only_its_own_shard_key",
        handled("EraseNote", lambda txn, _: txn.delete_range("sample.sizes", b"", b"\xff")),
        "kit_sample.v1.EraseNote writes key",
    ),
    (
        "test_batching_makes_no_difference",
        handled("EraseNote", Memory().count),
        "the shard of sample depends on how its log is batched: batches of [5] and of [1, 4]",
    ),
    (
        "test_replay_from_any_index_gives_the_same_state",
        handled("EraseNote", Memory().count),
        "the shard of sample that goes on from the state after 0 commands ends elsewhere",
    ),
    (
        "test_a_refusal_leaves_no_trace_in_later_commands",
        handled("EraseNote", Memory().remember_refusals),
        "a command that was refused in sample changes what later ones write",
    ),
    (
        "test_batches_answer_every_item",
        handled("WriteNotes", one_item_short),
        "the batch kit_sample.v1.WriteNotes: it was not answered item by item",
    ),
    (
        "test_batches_answer_every_item",
        handled("WriteNotes", first_item_only),
        "an item depends on others of another shard key",
    ),
    (
        "test_equal_rows_have_equal_digests",
        handled("WriteNote", write_no_note),
        "that is no kit_sample.v1.Note",
    ),
    (
        "test_equal_rows_have_equal_digests",
        handled("WriteNote", write_backwards),
        "is not in the one encoding of its message: write it with SerializeToString(determinis",
    ),
    (
        "test_commands_survive_faults",
        handled("WriteNote", Memory().count),
        "group sample, seed 1, at",
    ),
    (
        "test_a_poison_command_costs_its_caller_alone",
        handled("EraseNote", Memory().remember_empty_owners),
        "kit_sample.v1.EraseNote with an empty message was refused",
    ),
    (
        "test_a_poison_command_costs_its_caller_alone",
        handled("EraseNote", leave),
        "kit_sample.v1.EraseNote with an empty message stops the replica with SystemExit",
    ),
    (
        "test_a_poison_command_costs_its_caller_alone",
        handled("WriteNotes", fail_for_good),
        "kit_sample.v1.WriteNotes with an empty item between others stops the replica with Memory",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(lambda _: "ba"),
        "which is not sorted: shards cannot be merged",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(lambda _: map(str, count(10))),
        "is without bounds over what the log leaves",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(scan_all),
        "scans 1099511627776 rows at once",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(read_strangers),
        "reads what it does not declare: column family other.rows",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(hide_strangers),
        "reads what it does not declare: column family other.rows",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(lambda _: [str(time.perf_counter_ns())]),
        "gives other answers the second time",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        splicing([b"\xff"], shard_key=lambda _: b""),
        "yields 1 bytes that are no kit_sample.v1.Note",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        splicing([], items=Items(get=lambda _: [1], shard_key=bytes, make=lambda query, _: query)),
        "answers 1 items with 0, and has no order",
    ),
    (
        "test_queries_read_what_they_declare_and_answer_in_order",
        listing(lambda _: [1 / 0]),  # type: ignore[list-item]
        "raised ZeroDivisionError",
    ),
    (
        "test_caches_rebuilt_are_caches_kept_up",
        not_kept_up,
        "cache sample.texts holds",
    ),
    (
        "test_controllers_propose_and_converge",
        declared(controllers=with_first(run_once=write_directly)),
        "controller sample.note_erasing changed rows without a proposal",
    ),
    (
        "test_controllers_propose_and_converge",
        declared(controllers=with_first(run_once=propose_for_ever)),
        "controller sample.note_erasing still proposes after 10 runs",
    ),
    (
        "test_controllers_propose_and_converge",
        declared(controllers=with_first(run_once=propose_what_is_there)),
        "controller sample.note_erasing proposes kit_sample.v1.WriteNotes, which changes nothing",
    ),
    (
        "test_controllers_propose_and_converge",
        declared(controllers=with_first(run_once=None)),
        "controller sample.note_erasing raised TypeError",
    ),
]


@pytest.mark.parametrize(("check", "breach", "said"), BREACHES)
def test_a_breach_is_found(check: str, breach: Break, said: str, catalog: Catalog) -> None:
    with pytest.raises(Wrong) as found:
        run_check(check, breach(catalog))
    assert said in str(found.value)


@pytest.mark.parametrize(
    "error",
    [
        PluginErrors([PluginProblem("sample", "quorate-sample", "1.0", "it is wrong", "mend it")]),
        LookupError("no plugin named other is installed here"),
    ],
)
def test_one_wrong_declaration_fails_one_check(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def found(names: Sequence[str]) -> Catalog:
        asked.append(names)
        raise error

    monkeypatch.setattr(subject, "catalog_of", found)
    kind = type("TestSample", (PluginConformance,), {"plugin": "sample", "beside": ("other",)})
    failed = []
    for check in CHECKS:
        with suppress(pytest.skip.Exception):
            try:
                getattr(kind(), check)()
            except AssertionError as wrong:
                failed.append((check, str(wrong).partition("\n")[0]))

    [(check, text)] = failed
    assert check == "test_the_catalog_builds"
    assert text.startswith("the plugin's declarations are wrong: ")
    assert ("it is wrong; mend it" if isinstance(error, PluginErrors) else str(error)) in text
    # Discovery takes longer than most checks.
    assert asked == [["sample", "other"]]


def test_a_bug_of_a_handler_fails_one_check_and_that_of_a_controller_which_meets_it(
    catalog: Catalog, golden: str
) -> None:
    broken = handled("EraseNote", lambda txn, _: vars(Memory)["owner"])(catalog)
    failed = []
    for check in CHECKS:
        try:
            run_check(check, broken, golden=golden)
        except Wrong:
            failed.append(check)

    # The controller of the sample proposes the same command.
    assert failed == ["test_controllers_propose_and_converge", "test_examples_meet_no_bug"]


class LaxShard(MemoryShard):
    """A shard that keeps something of what was refused."""

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        outcomes = super().apply(entries)
        for outcome in outcomes:
            if outcome.failure is not None:
                meddle(self)
        return outcomes


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("test_a_refusal_writes_nothing", "was refused (NOT_FOUND: nobody), and wrote"),
        ("test_a_handler_that_fails_at_its_end_writes_nothing", "raised Rejected('KIT: after"),
        ("test_a_refusal_leaves_no_trace_in_later_commands", "changes what later ones write"),
    ],
)
def test_a_floor_that_keeps_what_was_refused_is_found(
    check: str, said: str, catalog: Catalog
) -> None:
    with pytest.raises(Wrong) as found:
        run_check(check, catalog, shard_type=LaxShard)
    assert said in str(found.value)


def test_a_floor_that_depends_on_batches_is_found(catalog: Catalog) -> None:
    class Counting(MemoryShard):
        def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
            meddle(self)
            return super().apply(entries)

    with pytest.raises(Wrong, match="depends on how its log is batched"):
        run_check("test_batching_makes_no_difference", catalog, shard_type=Counting)


class Forgetful(MemoryShard):
    """A shard that loses families which nobody declares."""

    def reopened(self, catalog: Catalog) -> Self:
        other = super().reopened(catalog)
        for family in other.orphans:
            batch = Batch()
            batch.delete_range(family, b"", b"\xff" * 9)
            other.data.commit(batch, other.data.record)
        return other


class Silent(MemoryShard):
    """A shard that does not tell of such families."""

    @property
    def orphans(self) -> tuple[str, ...]:
        return ()


class Lenient(MemoryShard):
    """A shard that writes before it knows its commands."""

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        outcomes = super().apply(entries)
        if any(outcome.failure is not None for outcome in outcomes):
            meddle(self)
        return outcomes


class Curt(MemoryShard):
    """A shard that does not say which command it does not know."""

    def apply(self, entries: Sequence[Entry]) -> list[Outcome]:
        refused = Rejected("UNKNOWN_COMMAND", "no")
        return [replace(outcome, failure=refused) for outcome in super().apply(entries)]


class Ordered(MemoryShard):
    """A shard whose digest is of the order in which rows came."""

    written: tuple[tuple[str, bytes, bytes], ...] = ()

    def load(self, rows: Iterable[tuple[str, bytes, bytes]]) -> None:
        self.written = tuple(rows)
        super().load(self.written)

    def replica_digest(self) -> str:
        return f"{super().replica_digest()} {self.written}"


@pytest.mark.parametrize(
    ("floor", "check", "said"),
    [
        (Forgetful, "test_rows_outlast_their_plugin", "rows of sample in sample were lost"),
        (Silent, "test_rows_outlast_their_plugin", "reports [] as stored and not declared"),
        (Lenient, "test_an_unknown_command_is_refused_alone", "an unknown command wrote to"),
        (Curt, "test_an_unknown_command_is_refused_alone", "is missing in the error of the caller"),
        (Ordered, "test_equal_rows_have_equal_digests", "depends on the order in which its"),
    ],
)
def test_a_floor_that_breaks_what_replicas_promise_is_found(
    floor: type[MemoryShard], check: str, said: str, catalog: Catalog
) -> None:
    with pytest.raises(Wrong) as found:
        run_check(check, catalog, shard_type=floor)
    assert said in str(found.value)


@pytest.fixture
def module_of(
    plugins_on_path: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], ModuleType]:
    """Make plugin modules from source: other processes import them by name."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, source: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(f"from kit_sample.plugin import *\n{source}")
        return import_module(name)

    return make


@pytest.mark.parametrize("needed", ["rocksdict", "pysyncobj"])
def test_a_module_that_needs_an_extra_is_found(
    needed: str, module_of: Any, catalog_of_module: Any
) -> None:
    module = module_of(f"kit_needs_{needed}", f"import {needed}\n")
    with pytest.raises(Wrong, match=f"{needed} is not part of the base install"):
        run_check("test_plugin_module_imports_with_the_base_install", catalog_of_module(module))


def test_a_wire_without_golden_says_how_to_write_it(catalog: Catalog) -> None:
    with pytest.raises(Wrong, match="write it with: quorate plugin protos DIR --accept"):
        run_check("test_the_wire_is_unchanged", catalog)


def test_a_wire_that_breaks_is_found(catalog: Catalog, golden: str) -> None:
    older = FileDescriptorSet.FromString(Path(golden).read_bytes())
    older.file[0].message_type[0].field[1].number = 9
    Path(golden).write_bytes(older.SerializeToString())
    with pytest.raises(Wrong, match=r"WriteNote\.text was removed, and its number 9"):
        run_check("test_the_wire_is_unchanged", catalog, golden=golden)


def test_what_is_only_refused_may_be_named_as_long_as_it_is(catalog: Catalog) -> None:
    check, name = "test_every_command_is_accepted_once", f"{V1}.EraseNote"
    breach = handled("EraseNote", lambda txn, _: reject("NEVER"))

    run_check(check, breach(catalog), only_refused=[name])
    with pytest.raises(Wrong, match="only_refused names what is carried out"):
        run_check(check, catalog, only_refused=[name])


def test_what_is_accepted_in_a_plain_replay_alone_is_found(catalog: Catalog) -> None:
    def refuse_after_the_slots(txn: Txn, _: Any) -> None:
        # A run under faults has its slots at the first index.
        if txn.revision >= 2 << 20:
            raise Rejected("LATE", "only the first may")

    breach = handled("EraseNote", refuse_after_the_slots)
    examples = [each for c in catalog.declared["sample"].commands for each in c.examples]
    erasures = [each for each in examples if type(each).__name__ == "EraseNote"]
    with pytest.raises(Wrong, match=r"never accepted: kit_sample.v1.EraseNote \(LATE: only the"):
        run_check(
            "test_commands_survive_faults",
            breach(catalog),
            log=lambda _: [*erasures, *examples],
        )


def test_what_is_left_out_under_faults_is_found(catalog: Catalog) -> None:
    with pytest.raises(Wrong, match=r"kit_sample.v1.EraseNote \(it was never answered\)"):
        run_check(
            "test_commands_survive_faults",
            catalog,
            under_faults=lambda self: [
                each for each in self.log() if type(each).__name__ != "EraseNote"
            ],
        )


def test_a_run_that_refuses_most_is_found(catalog: Catalog) -> None:
    once = handled("EraseNote", lambda txn, _: reject("NEVER"))
    with pytest.raises(
        Wrong, match=r"under faults only \d+ of \d+ .* EraseNote|EraseNote \d+ times"
    ):
        run_check(
            "test_commands_survive_faults",
            once(catalog),
            under_faults=lambda self: [
                each
                for example in self.log()
                for each in [example] * (9 if type(example).__name__ == "EraseNote" else 1)
            ],
        )


def test_a_log_of_strangers_is_refused(catalog: Catalog) -> None:
    empty = import_module("google.protobuf.empty_pb2").Empty()
    with pytest.raises(Wrong, match="commands that no plugin declares"):
        run_check("test_examples_meet_no_bug", catalog, log=lambda _: [empty])


def test_the_log_is_the_examples_twice_over(catalog: Catalog) -> None:
    kind = type("TestSample", (PluginConformance,), {"plugin": "sample", "catalog": catalog})
    examples = [e for c in catalog.declared["sample"].commands for e in c.examples]
    assert kind().log() == examples * 2


def test_five_entries_are_divided_in_sixteen_ways() -> None:
    entries = [Entry(index=index, commands=()) for index in range(1, 13)]
    five = logs.cut(entries, 5)
    divisions = [tuple(len(batch) for batch in division) for division in logs.divisions(five)]
    assert len(five) == 5
    assert len(set(divisions)) == len(divisions) == 16
    assert {sum(division) for division in divisions} == {5}
