"""Commands with a fence, and commands that are carried out as a part of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from quorate.apply import fences
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.plugin import Fence
from quorate.plugin.slots import slot_of
from quorate.storage.families import FENCES
from quorate.v1.control_pb2 import (
    AdoptSlots,
    ForgetFences,
    ForgetFencesReply,
    OpenSession,
    OpenSessionReply,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

PUT: list[object] = ["put", "tested.rows", "k", "v"]
NewMachine = Callable[..., "Machine"]


@pytest.fixture
def owner(machine: Machine) -> Machine:
    """A shard that owns the slot of its commands."""
    slots = bytearray(128)
    slot = slot_of(b"")
    slots[slot >> 3] |= 1 << (slot & 7)
    adopt = AdoptSlots(version=1, slots=bytes(slots))
    [adopted] = machine.apply(
        LoggedCommand(adopt.DESCRIPTOR.full_name, adopt.SerializeToString(), slotless=True)
    )
    assert adopted.refusal is None
    return machine


def fenced(machine: Machine, token: int, *steps: Any, name: bytes = b"lock") -> LoggedCommand:
    return machine.script(*steps or (PUT,))._replace(fence=Fence(name, token))


def codes(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.refusal.code if outcome.refusal else "" for outcome in outcomes]


def test_an_older_token_is_refused_from_the_first_newer_one_on(machine: Machine) -> None:
    outcomes = machine.apply(
        fenced(machine, 7),
        fenced(machine, 7),
        fenced(machine, 9),
        fenced(machine, 8, ["put", "tested.rows", "late", "v"]),
        fenced(machine, 8, name=b"other"),
    )
    assert codes(outcomes) == ["", "", "", "FENCED", ""]

    [late] = machine.apply(fenced(machine, 8, ["put", "tested.rows", "late", "v"]))
    assert late.refusal is not None
    assert late.refusal.message.startswith("fencing token 8 of b'lock' is stale (minimum 9)")
    assert b"late" not in machine.rows("tested.rows")


def test_a_refused_command_leaves_the_token_as_it_was(machine: Machine) -> None:
    outcomes = machine.apply(fenced(machine, 9, ["reject", "TAKEN"]), fenced(machine, 8))

    assert codes(outcomes) == ["TAKEN", ""]


def test_a_handler_raises_the_token(machine: Machine) -> None:
    machine.do(["raise", 9])
    machine.do(["raise", 3])

    assert codes(machine.apply(fenced(machine, 8), fenced(machine, 9))) == ["FENCED", ""]


def test_an_operation_that_was_carried_out_is_answered_though_its_token_is_old(
    machine: Machine,
) -> None:
    opening = OpenSession(ttl_ms=60_000)
    [opened] = machine.apply(
        LoggedCommand(opening.DESCRIPTOR.full_name, opening.SerializeToString(), slotless=True)
    )
    session = OpenSessionReply.FromString(opened.reply).session
    first, second = (
        fenced(machine, 8)._replace(stamp=Stamp(session, number, 1)) for number in (1, 2)
    )
    [carried_out] = machine.apply(first)
    machine.apply(fenced(machine, 9))

    assert codes(machine.apply(first, second)) == ["", "FENCED"]
    assert machine.apply(first)[0].revision == carried_out.revision


def test_tokens_are_forgotten_a_week_after_they_were_raised(machine: Machine) -> None:
    machine.apply(fenced(machine, 9, name=b"old"), at_ms=1_000)
    machine.apply(fenced(machine, 9, name=b"used"), at_ms=1_000)
    machine.apply(fenced(machine, 10, name=b"used"), at_ms=2_000)
    machine.apply(fenced(machine, 1), at_ms=1_001 + fences.REMEMBERED_MS)

    names = [key[1:] for key in machine.rows(FENCES) if key.startswith(b"n")]
    assert names == [b"lock", b"used"]


def test_a_held_token_is_remembered_until_it_is_raised_or_let_go(machine: Machine) -> None:
    machine.apply(machine.script(["hold", 9]), at_ms=1_000)
    later = 2_000 + fences.REMEMBERED_MS
    outcomes = machine.apply(fenced(machine, 1, name=b"other"), fenced(machine, 8), at_ms=later)
    assert codes(outcomes) == ["", "FENCED"]

    machine.apply(machine.script(["raise", 9]), at_ms=later)
    machine.apply(fenced(machine, 2, name=b"other"), at_ms=later + 1_000 + fences.REMEMBERED_MS)
    assert not [key for key in machine.rows(FENCES) if key == b"nlock"]


def test_a_token_of_a_callers_own_leaps_by_so_much_only(machine: Machine) -> None:
    last = (1 << 64) - 1
    outcomes = machine.apply(
        fenced(machine, last),
        fenced(machine, 7),
        fenced(machine, 8 + fences.LONGEST_LEAP),
        fenced(machine, 7 + fences.LONGEST_LEAP),
        fenced(machine, last),
    )
    assert codes(outcomes) == ["OUT_OF_RANGE", "", "OUT_OF_RANGE", "", "OUT_OF_RANGE"]


def test_tokens_above_one_are_forgotten_by_command(machine: Machine) -> None:
    machine.apply(fenced(machine, 9), fenced(machine, 7, name=b"lock 2"))
    machine.apply(fenced(machine, 9, name=b"other"))
    forget = ForgetFences(prefix=b"lock", above=8)
    [forgotten] = machine.apply(
        LoggedCommand(forget.DESCRIPTOR.full_name, forget.SerializeToString(), slotless=True)
    )

    assert ForgetFencesReply.FromString(forgotten.reply).forgotten == 1
    assert codes(
        machine.apply(
            fenced(machine, 8),
            fenced(machine, 6, name=b"lock 2"),
            fenced(machine, 8, name=b"other"),
        )
    ) == ["", "FENCED", "FENCED"]


def test_a_part_is_carried_out_in_the_same_entry(owner: Machine) -> None:
    part = [["put", "tested.rows", "l", "v"], ["get", "tested.rows", "k"], ["emit", "x"]]
    outcome = owner.do(PUT, ["carry out", part], ["put", "tested.rows", "m", "v"])

    assert owner.answers(outcome) == [["v"]]
    assert list(owner.rows("tested.rows")) == [b"k", b"l", b"m"]


def test_a_refused_part_wrote_nothing_and_the_rest_goes_on(owner: Machine) -> None:
    part = [["put", "tested.rows", "l", "v"], ["reject", "NO"]]
    broken = [["put", "tested.rows", "l", "v"], ["fail", "KeyError"]]
    outcome = owner.do(["carry out", part], ["carry out", broken], PUT)

    assert owner.answers(outcome) == ["NO", "INTERNAL"]
    assert list(owner.rows("tested.rows")) == [b"k"]


def test_a_part_goes_with_the_whole(owner: Machine) -> None:
    outcome = owner.do(["carry out", [PUT]], ["reject", "NO"])

    assert outcome.refusal is not None
    assert not owner.rows("tested.rows")


def test_a_part_has_its_own_fence(owner: Machine) -> None:
    outcome = owner.do(["raise", 9], ["carry out", [PUT], 8], ["carry out", [["now"]], 9])

    assert owner.answers(outcome) == ["FENCED", [0]]
    assert not owner.rows("tested.rows")


def test_a_part_has_no_parts(owner: Machine) -> None:
    outcome = owner.do(["carry out", [["carry out", [PUT]]]])

    assert owner.answers(outcome) == [["elsewhere"]]


def test_what_another_shard_holds_is_left_to_it(machine: Machine) -> None:
    outcome = machine.do(["carry out", [PUT]])

    assert machine.answers(outcome) == ["elsewhere"]
