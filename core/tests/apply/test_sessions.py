from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from quorate.apply.entries import LAST_POSITION, LoggedCommand, Stamp, index_of
from quorate.apply.outcomes import Outcome
from quorate.apply.sessions import EXPIRED_AT_ONCE, MAX_ANSWER_BYTES, WINDOW, number_at
from quorate.plugin.shard_id import ShardId
from quorate.v1.control_pb2 import (
    AdoptSlots,
    CloseSession,
    OpenSession,
    OpenSessionReply,
    SealSession,
    SealSessionReply,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

COUNT = ["id", "x"]


def opened(machine: Machine, *, name: str = "", ttl_ms: int = 1_000, at_ms: int = 0) -> int:
    outcome = machine.control(OpenSession(name=name, ttl_ms=ttl_ms), at_ms=at_ms)
    assert outcome.refusal is None, outcome
    return OpenSessionReply.FromString(outcome.reply).session


def code(outcome: Outcome) -> str | None:
    return None if outcome.refusal is None else outcome.refusal.code


def counted(machine: Machine) -> int:
    [last] = machine.read(COUNT)
    return int(last & 0xFFFF) - 1


def test_a_session_has_a_number_of_its_entry_and_its_shard_and_never_another_one(
    machine: Machine, new_machine: Callable[..., Machine]
) -> None:
    first, second = opened(machine), opened(machine)
    machine.control(CloseSession(session=second))
    third = opened(machine)

    assert (first, second, third) == tuple(number_at(index << 20, 3) for index in (1, 2, 4))
    assert [index_of(each) for each in (first, second, third)] == [1, 2, 4]
    # Shards count alike: those that are merged must not have sessions of one number.
    assert opened(new_machine(shard=ShardId("tested", 4))) != first
    # No two commands of an entry have one, nor 16 at the beginning of entries of any shards.
    highest = (1 << 16) - 1
    assert number_at(1 << 20 | LAST_POSITION, highest) == 1 << 20 | (16 * highest - 1)
    begun = [number_at(7 << 20 | at, n) for n in range(highest + 1) for at in (0, 15)]
    assert len(set(begun)) == len(begun)
    assert {index_of(each) for each in begun} == {7}


def test_a_retry_gets_the_recorded_answer_and_changes_nothing(machine: Machine) -> None:
    session = opened(machine)
    steps = (COUNT, ["put", "tested.rows", "k", "v"])
    first = machine.do(*steps, stamp=Stamp(session, 4, 0))
    # Its answer is known even in the entry that applies it, and after a restart.
    again, another = machine.apply(
        machine.script(*steps, stamp=Stamp(session, 4, 0)),
        machine.script(*steps, stamp=Stamp(session, 5, 0)),
    )
    machine.open()

    assert again == first
    assert another != first
    assert machine.do(*steps, stamp=Stamp(session, 5, 0)) == another
    assert counted(machine) == 2
    assert len(machine.rows("core.events")) == 2


def test_a_retry_gets_the_recorded_refusal(machine: Machine) -> None:
    session = opened(machine)
    refused = machine.do(["reject", "FENCED"], stamp=Stamp(session, 0, 0))
    failed = machine.do(["fail", "KeyError"], stamp=Stamp(session, 1, 0))

    assert machine.do(["put", "tested.rows", "k", "v"], stamp=Stamp(session, 0, 0)) == refused
    assert machine.do(stamp=Stamp(session, 1, 0)) == failed
    assert (code(refused), code(failed)) == ("FENCED", "INTERNAL")
    assert not machine.rows("tested.rows")


@pytest.mark.parametrize("session", [0, 77, number_at(1 << 20, 3)])
def test_an_unknown_session_is_refused_and_nothing_written(machine: Machine, session: int) -> None:
    opened(machine, name="other")
    machine.control(CloseSession(session=number_at(1 << 20, 3)))
    before = machine.rows("core.sessions"), machine.rows("core.answers")
    outcome = machine.do(["put", "tested.rows", "k", "v"], stamp=Stamp(session, 0, 0))

    assert code(outcome) == "SESSION_EXPIRED"
    assert not machine.rows("tested.rows")
    assert (machine.rows("core.sessions"), machine.rows("core.answers")) == before


def test_a_session_expires_by_logical_time(machine: Machine) -> None:
    session = opened(machine, ttl_ms=100, at_ms=1_000)

    assert code(machine.do(COUNT, at_ms=1_100, stamp=Stamp(session, 0, 0))) is None
    assert code(machine.do(COUNT, at_ms=1_200, stamp=Stamp(session, 1, 0))) is None
    assert machine.rows("core.answers")
    assert code(machine.do(COUNT, at_ms=1_301, stamp=Stamp(session, 1, 0))) == "SESSION_EXPIRED"
    assert counted(machine) == 2
    # Nothing of it is left.
    assert not machine.rows("core.sessions")
    assert not machine.rows("core.answers")


def test_expired_sessions_go_with_any_entry_and_a_bounded_number_at_once(machine: Machine) -> None:
    for _ in range(EXPIRED_AT_ONCE + 3):
        opened(machine, ttl_ms=10)
    kept = opened(machine, ttl_ms=10_000)
    machine.open()
    last = (EXPIRED_AT_ONCE + 3) << 20
    outcome = machine.do(at_ms=500, stamp=Stamp(last, 0, 0))

    assert len(machine.rows("core.sessions")) == 2 * (3 + 1)
    assert code(outcome) == "SESSION_EXPIRED"
    machine.do()
    assert len(machine.rows("core.sessions")) == 2
    assert code(machine.do(stamp=Stamp(kept, 0, 0))) is None


def test_sequences_lie_within_the_window(machine: Machine) -> None:
    session = opened(machine)
    machine.do(COUNT, stamp=Stamp(session, 9, 9))

    for sequence, lowest, expected in (
        (8, 9, "OUT_OF_RANGE"),
        # A late retry that does not know yet what its caller said since.
        (8, 8, "OUT_OF_RANGE"),
        (9 + WINDOW + 1, 9, "OUT_OF_RANGE"),
        (9 + WINDOW, 9, None),
        (9, 0, None),
    ):
        assert code(machine.do(COUNT, stamp=Stamp(session, sequence, lowest))) == expected
    assert counted(machine) == 2


@pytest.mark.parametrize("lowest", [3, 2**60])
def test_answers_below_the_lowest_unanswered_are_forgotten(machine: Machine, lowest: int) -> None:
    session = opened(machine)
    for sequence in range(3):
        machine.do(COUNT, stamp=Stamp(session, sequence, 0))
    assert len(machine.rows("core.answers")) == 3
    machine.do(COUNT, stamp=Stamp(session, lowest, lowest))

    assert len(machine.rows("core.answers")) == 1


def test_a_named_session_is_found_again_and_lives_until_it_is_closed(machine: Machine) -> None:
    session = opened(machine, name="load", ttl_ms=5)
    machine.do(at_ms=1_000_000)

    assert opened(machine, name="load") == session
    assert opened(machine, name="other") != session
    assert code(machine.do(COUNT, stamp=Stamp(session, 0, 0))) is None
    machine.control(CloseSession(session=session))
    assert code(machine.do(COUNT, stamp=Stamp(session, 1, 0))) == "SESSION_EXPIRED"
    assert opened(machine, name="load") != session


def test_a_named_session_keeps_every_answer(machine: Machine) -> None:
    session = opened(machine, name="load")
    first = [machine.do(COUNT, stamp=Stamp(session, sequence, sequence)) for sequence in range(100)]
    first.append(machine.do(["reject", "FENCED"], stamp=Stamp(session, 100, 100)))
    machine.open()
    # The load was begun anew by one who does not know how far it came.
    again = [machine.do(COUNT, stamp=Stamp(session, sequence, 0)) for sequence in range(100)]
    again.append(machine.do(["reject", "FENCED"], stamp=Stamp(session, 100, 0)))

    assert again == first
    assert code(machine.do(COUNT, stamp=Stamp(session, 101, 0))) is None
    assert counted(machine) == 101
    machine.control(CloseSession(session=session))
    assert not machine.rows("core.answers")


def test_a_named_session_knows_its_commands_again(machine: Machine) -> None:
    session = opened(machine, name="load")
    put = ["put", "tested.rows", "k", "v"]
    machine.do(put, stamp=Stamp(session, 1, 1))
    machine.do(COUNT, stamp=Stamp(session, 2, 2))
    rows = machine.rows("tested.rows")

    for sequence, lowest in ((1, 1), (1, 0), (2, 2)):
        other = machine.do(["put", "tested.rows", "k", "w"], stamp=Stamp(session, sequence, lowest))
        assert code(other) == "OTHER_COMMAND"
    assert machine.rows("tested.rows") == rows
    assert code(machine.do(put, stamp=Stamp(session, 1, 1))) is None


def test_what_a_named_session_never_did_is_not_done_below_its_mark(machine: Machine) -> None:
    session = opened(machine, name="load")
    machine.do(COUNT, stamp=Stamp(session, 5, 5))

    assert machine.do(COUNT, stamp=Stamp(session, 4, 4)).forgotten
    assert code(machine.do(COUNT, stamp=Stamp(session, 0, 1))) == "OUT_OF_RANGE"
    assert counted(machine) == 1


def sealed(machine: Machine, name: str) -> SealSessionReply:
    outcome = machine.control(SealSession(name=name))
    assert outcome.refusal is None, outcome
    return SealSessionReply.FromString(outcome.reply)


def test_a_sealed_session_does_nothing_more_and_tells_what_it_did(machine: Machine) -> None:
    session, other = opened(machine, name="load"), opened(machine, name="other")
    done = [machine.do(COUNT, stamp=Stamp(session, sequence, sequence)) for sequence in (1, 2)]
    machine.do(["reject", "FENCED"], stamp=Stamp(session, 3, 3))
    machine.do(COUNT, stamp=Stamp(other, 1, 1))
    first = sealed(machine, "load")
    machine.open()

    assert first.session == session
    assert list(first.revisions) == [outcome.revision for outcome in done]
    assert sealed(machine, "load") == first
    for sequence in (1, 4):
        assert code(machine.do(COUNT, stamp=Stamp(session, sequence, 1))) == "SESSION_SEALED"
    assert opened(machine, name="load") == session
    assert counted(machine) == 3
    assert code(machine.do(COUNT, stamp=Stamp(other, 2, 2))) is None


def test_a_name_that_was_never_opened_is_sealed(machine: Machine) -> None:
    first = sealed(machine, "load")

    assert not first.revisions
    assert opened(machine, name="load") == first.session
    assert code(machine.do(COUNT, stamp=Stamp(first.session, 1, 1))) == "SESSION_SEALED"
    assert code(machine.control(SealSession())) == "INVALID_ARGUMENT"


def test_a_large_answer_is_remembered_as_applied(machine: Machine) -> None:
    session = opened(machine)
    size = MAX_ANSWER_BYTES
    first = machine.do(COUNT, ["answer", size], stamp=Stamp(session, 0, 0))
    again = machine.do(COUNT, ["answer", size], stamp=Stamp(session, 0, 0))

    assert len(first.reply) > MAX_ANSWER_BYTES
    assert not first.forgotten
    assert again == Outcome(first.revision, forgotten=True)
    assert counted(machine) == 1
    assert max(map(len, machine.rows("core.answers").values())) < MAX_ANSWER_BYTES


def test_a_named_session_keeps_a_large_answer_too(machine: Machine) -> None:
    session = opened(machine, name="load")
    steps = (COUNT, ["answer", MAX_ANSWER_BYTES])
    first = machine.do(*steps, stamp=Stamp(session, 1, 1))
    machine.open()

    assert len(first.reply) > MAX_ANSWER_BYTES
    assert machine.do(*steps, stamp=Stamp(session, 1, 1)) == first
    assert counted(machine) == 1


def test_a_recorded_answer_is_given_although_the_slot_has_moved(machine: Machine) -> None:
    session = opened(machine)
    all_slots, none = b"\xff" * 128, bytes(128)
    machine.control(AdoptSlots(version=1, slots=all_slots))

    def attempt(sequence: int) -> Outcome:
        stamp = Stamp(session, sequence, 0)
        [outcome] = machine.apply(machine.script(COUNT, stamp=stamp, slots=[7]))
        return outcome

    first = attempt(0)
    machine.control(AdoptSlots(version=2, slots=none))
    assert attempt(0) == first
    assert code(attempt(1)) == "WRONG_SHARD"
    # One that was opened where the slot is now is unknown here, and lives on there.
    [outcome] = machine.apply(machine.script(COUNT, stamp=Stamp(session + 1, 0, 0), slots=[7]))
    assert code(outcome) == "WRONG_SHARD"
    # What was not applied is not remembered either.
    machine.control(AdoptSlots(version=3, slots=all_slots))
    assert code(attempt(1)) is None
    assert counted(machine) == 2


def of(who: str, command: LoggedCommand) -> LoggedCommand:
    return command._replace(caller=who)


def test_only_its_owner_may_use_a_session(machine: Machine) -> None:
    for name in ("", "load"):
        outcome = machine.control(OpenSession(name=name, ttl_ms=1_000, owner="ada"))
        session = OpenSessionReply.FromString(outcome.reply).session
        stamps = [Stamp(session, number, 0) for number in (1, 2, 3)]
        mine, others, nodes = (machine.script(COUNT, stamp=stamp) for stamp in stamps)
        before = counted(machine)
        machine.open()

        answers = machine.apply(of("ada", mine), of("eve", mine), of("eve", others), of("", nodes))

        assert list(map(code, answers)) == [
            None,
            "PERMISSION_DENIED",
            "PERMISSION_DENIED",
            None,
        ]
        # What was refused is not recorded: it is its owner's to send.
        assert machine.apply(of("ada", others))[0].refusal is None
        assert counted(machine) == before + 4


def test_only_its_owner_may_open_seal_and_close_a_session(machine: Machine) -> None:
    first = machine.control(OpenSession(name="load", owner="ada"))
    session = OpenSessionReply.FromString(first.reply).session
    for asked in (
        OpenSession(name="load", owner="eve"),
        SealSession(name="load", caller="eve"),
        CloseSession(session=session, caller="eve"),
    ):
        assert code(machine.control(asked)) == "PERMISSION_DENIED"

    assert machine.control(OpenSession(name="load", owner="ada")).reply == first.reply
    assert code(machine.control(SealSession(name="load"))) is None
    assert code(machine.control(OpenSession(name="load", owner="eve"))) == "PERMISSION_DENIED"
    assert code(machine.control(CloseSession(session=session, caller="ada"))) is None
    assert machine.control(OpenSession(name="load", owner="eve")).refusal is None


def test_a_session_that_nobody_owns_is_anybodys(machine: Machine) -> None:
    session = opened(machine, name="load")

    [answer] = machine.apply(of("eve", machine.script(COUNT, stamp=Stamp(session, 1, 0))))

    assert answer.refusal is None
    assert code(machine.control(CloseSession(session=session, caller="eve"))) is None


def test_names_are_each_owners_own_and_bounded(machine: Machine) -> None:
    def opened(name: str, owner: str = "", *, whose: bool = False) -> int | str:
        command = OpenSession(name=name, owner=owner, most=2, any=whose)
        outcome = machine.control(command)
        if outcome.refusal is not None:
            return outcome.refusal.code
        return OpenSessionReply.FromString(outcome.reply).session

    shared = OpenSessionReply.FromString(
        machine.control(OpenSession(name="old", owner="ada")).reply
    ).session
    ada, ben = opened("load", "ada"), opened("load", "ben")
    machine.control(SealSession(name="load", caller="eve", most=2))

    assert ada != ben
    assert opened("load", "ada") == ada
    assert opened("old", "ada") == shared
    assert opened("old", "ben") == "PERMISSION_DENIED"
    assert opened("load 2", "ben") != "RESOURCE_EXHAUSTED"
    assert opened("load 3", "ben") == "RESOURCE_EXHAUSTED"
    assert opened("load", "ben") == ben
    # An administrator finds those of others.
    assert opened("load 2", "root", whose=True) == opened("load 2", "ben")
    seal = machine.control(SealSession(name="load 2", most=2))
    assert SealSessionReply.FromString(seal.reply).session == opened("load 2", "ben")
