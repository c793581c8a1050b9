"""The reference against the text of the rules; what applies entries is held against it by runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.v1.control_pb2 import AdoptSlots, OpenSession

from tests.support.sim import domain
from tests.support.sim.model import identity
from tests.support.sim.v1.domain_pb2 import Erase, Expire, Write

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

#: The first command of the first entry is the session's name.
SESSION = 1 << 20


def _opened(log: Log) -> None:
    log.take(log.command(OpenSession(ttl_ms=100)))


def _outcomes(log: Log, command: LoggedCommand) -> list[Outcome]:
    return log.model.results[identity(command)]


def _codes(log: Log, command: LoggedCommand) -> list[str]:
    return [each.refusal.code if each.refusal else "" for each in _outcomes(log, command)]


def test_a_repetition_is_answered_as_the_first_time(log: Log) -> None:
    _opened(log)
    command = log.add(1, Stamp(SESSION, 1, 1))
    log.take(command)
    log.take(command)
    first, again = _outcomes(log, command)
    assert first == again
    assert log.model.rows[domain.COUNTERS][domain.key_of("c")].value == b"\x08\x02"


def test_an_unknown_session_and_one_that_has_expired_are_refused(log: Log) -> None:
    _opened(log)
    unknown, in_time, late = (
        log.add(1, Stamp(5, 1, 1)),
        log.add(2, Stamp(SESSION, 1, 1)),
        log.add(3, Stamp(SESSION, 2, 2)),
    )
    log.take(unknown, in_time, at_ms=100)
    log.take(late, at_ms=201)
    assert [*_codes(log, unknown), *_codes(log, in_time), *_codes(log, late)] == [
        "SESSION_EXPIRED",
        "",
        "SESSION_EXPIRED",
    ]


def test_what_lies_outside_the_window_is_refused(log: Log) -> None:
    _opened(log)
    log.take(log.add(1, Stamp(SESSION, 1, 1)))
    log.take(log.add(2, Stamp(SESSION, 2, 2)))
    below, above = log.add(1, Stamp(SESSION, 1, 1)), log.add(3, Stamp(SESSION, 1027, 2))
    log.take(below, above)
    assert _codes(log, below)[1:] == ["OUT_OF_RANGE"]
    assert _codes(log, above) == ["OUT_OF_RANGE"]


def test_slots_are_adopted_by_version_and_guard_commands(log: Log) -> None:
    owned = log.write(1)._replace(slotless=False, slots=(9,))
    log.take(owned)
    log.take(log.command(AdoptSlots(version=2, slots=b"\x00\x02".ljust(128, b"\x00"))))
    log.take(log.command(AdoptSlots(version=1, slots=bytes(128))))
    log.take(owned)
    assert _codes(log, owned) == ["WRONG_SHARD", ""]


def test_a_register_is_compared_erased_and_expires(log: Log) -> None:
    key = domain.key_of("k")
    log.take(log.write(1))
    wrong = log.command(Write(operation=2, key="k", expected=7))
    right = log.command(Write(operation=3, key="k", expected=1 << 20, ttl_ms=10))
    log.take(wrong, right, at_ms=5)
    assert (_codes(log, wrong), _codes(log, right)) == (["FAILED_PRECONDITION"], [""])
    log.take(log.command(Expire(keys=[key])), at_ms=14)
    assert key in log.model.rows[domain.REGISTERS]
    log.take(log.command(Expire(keys=[key])), at_ms=15)
    assert not log.model.rows[domain.REGISTERS]
    assert not log.model.rows[domain.NOTES]
    missing = log.command(Erase(operation=4, key="k"))
    log.take(missing)
    assert _codes(log, missing) == ["NOT_FOUND"]
    assert [change.value is None for change in log.model.changes] == [False, False, True]
