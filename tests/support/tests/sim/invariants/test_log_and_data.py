import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Opened
from tests.support.sim.history import Violation
from tests.support.sim.invariants.log_and_data import LogAndData


def _opened(applied: int, installed: int = 0) -> Opened:
    """Return the opening of a log that was cut at 4 and ends at 6."""
    snapshot = Position(installed, 1) if installed else None
    return Opened(
        "s0", Peer("a", 1), Position(4, 1), (1, 1), (), HardState(1, None), applied, None, snapshot
    )


@pytest.mark.parametrize("fact", [_opened(4), _opened(6), _opened(9, installed=9)])
def test_data_within_the_log_or_just_installed_is_fine(fact: Opened) -> None:
    LogAndData().see(fact)


@pytest.mark.parametrize("fact", [_opened(3), _opened(7), _opened(9, installed=8)])
def test_anything_else_is_a_violation(fact: Opened) -> None:
    with pytest.raises(Violation, match="and a log of 5 to 6"):
        LogAndData().see(fact)
