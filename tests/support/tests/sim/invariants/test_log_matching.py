import pytest
from quorate.consensus.journal import Position
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.facts import Appended
from tests.support.sim.history import Violation
from tests.support.sim.invariants.log_matching import LogMatching


def _appended(node: str, previous: tuple[int, int], *entries: tuple[int, int, bytes]) -> Appended:
    written = tuple(Entry(index, term, EntryKind.COMMAND, what) for index, term, what in entries)
    return Appended("s0", Peer(node, 1), Position(*previous), written)


def test_equal_logs_match() -> None:
    judge = LogMatching()
    judge.see(_appended("a", (0, 0), (1, 1, b"x"), (2, 2, b"y")))
    judge.see(_appended("b", (0, 0), (1, 1, b"x")))
    judge.see(_appended("b", (1, 1), (2, 3, b"z")))


@pytest.mark.parametrize(
    ("previous", "entry"),
    [((0, 0), (1, 1, b"other")), ((1, 1), (3, 1, b"gap")), ((1, 2), (2, 1, b"back"))],
)
def test_what_one_log_has_otherwise_is_a_violation(
    previous: tuple[int, int], entry: tuple[int, int, bytes]
) -> None:
    judge = LogMatching()
    judge.see(_appended("a", (0, 0), (1, 1, b"x")))
    with pytest.raises(Violation, match="log matching"):
        judge.see(_appended("b", previous, entry))


def test_another_term_in_front_is_a_violation() -> None:
    judge = LogMatching()
    judge.see(_appended("a", (1, 1), (2, 3, b"x")))
    with pytest.raises(Violation, match="in front of it"):
        judge.see(_appended("b", (1, 2), (2, 3, b"x")))
