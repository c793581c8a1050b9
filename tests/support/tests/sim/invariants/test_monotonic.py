import pytest
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Seen
from tests.support.sim.history import Violation
from tests.support.sim.invariants.monotonic import Monotonic


def _seen(term: int, commit: int, applied: int) -> Seen:
    return Seen("s0", Peer("a", 1), False, term, commit, applied, None)


def test_what_grows_is_fine() -> None:
    judge = Monotonic()
    for fact in (_seen(1, 2, 1), _seen(1, 2, 2), _seen(4, 5, 2)):
        judge.see(fact)


@pytest.mark.parametrize(
    ("back", "what"),
    [((1, 5, 5), "term"), ((2, 4, 4), "commit index"), ((2, 5, 4), "applied index")],
)
def test_what_goes_back_is_a_violation(back: tuple[int, int, int], what: str) -> None:
    judge = Monotonic()
    judge.see(_seen(2, 5, 5))
    with pytest.raises(Violation, match=f"the {what} of"):
        judge.see(_seen(*back))


def test_applied_beyond_committed_is_a_violation() -> None:
    with pytest.raises(Violation, match="applied 3, committed 2"):
        Monotonic().see(_seen(1, 2, 3))
