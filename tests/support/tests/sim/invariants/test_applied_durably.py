import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.durable import DurableLogs
from tests.support.sim.facts import Appended, Applied, Opened, StateSaved, Synced
from tests.support.sim.history import Violation
from tests.support.sim.invariants.applied_durably import AppliedDurably

ME = Peer("a", 1)


def _logs(synced: int) -> DurableLogs:
    """Return the record of a disk that was given term 3, a vote, and three entries of term 3."""
    logs = DurableLogs()
    state = HardState(3, Peer("c", 1))
    entries = tuple(Entry(index, 3, EntryKind.COMMAND, b"") for index in (1, 2, 3))
    logs.see(Opened("s0", ME, Position(0, 0), (), (), HardState(2, None), 0, None))
    logs.see(StateSaved("s0", ME, state))
    for entry in entries:
        logs.see(Appended("s0", ME, Position(entry.index - 1, 3), (entry,)))
    logs.see(Synced("s0", ME, synced))
    return logs


def _applied(index: int, term: int = 3) -> Applied:
    return Applied("s0", ME, Entry(index, term, EntryKind.COMMAND, b""))


def test_what_is_durable_may_be_applied() -> None:
    AppliedDurably(_logs(synced=3)).see(_applied(2))


@pytest.mark.parametrize("fact", [_applied(3), _applied(2, term=2)])
def test_what_is_not_durable_here_must_not_be(fact: Applied) -> None:
    with pytest.raises(Violation, match="durable up to 2"):
        AppliedDurably(_logs(synced=3)).see(fact)
