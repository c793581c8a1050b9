import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import (
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    RequestVote,
    VoteReply,
)

from tests.support.sim.durable import DurableLogs
from tests.support.sim.facts import Appended, Opened, Sent, StateSaved, Synced
from tests.support.sim.history import Violation
from tests.support.sim.invariants.durable_promises import DurablePromises

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


def _sent(body: Body, target: str = "c") -> Sent:
    return Sent("s0", ME, Message(ME, Peer(target, 1), 3, 1, body))


@pytest.mark.parametrize(
    "body",
    [
        VoteReply(True, False, 3),
        RequestVote(0, 0, pre=True),
        AppendReply(True, 0, 2),
        HeartbeatReply(1, 2),
        Heartbeat(0, 1),
    ],
)
def test_what_is_durable_may_be_told(body: Body) -> None:
    DurablePromises(_logs(synced=3)).see(_sent(body))


@pytest.mark.parametrize("body", [AppendReply(True, 0, 3), HeartbeatReply(1, 3)])
def test_an_entry_that_is_not_durable_must_not_be_acknowledged(body: Body) -> None:
    with pytest.raises(Violation, match="its disk holds entries up to 2"):
        DurablePromises(_logs(synced=3)).see(_sent(body))


@pytest.mark.parametrize("body", [VoteReply(True, False, 3), Heartbeat(0, 1)])
def test_a_term_that_is_not_durable_must_not_be_told(body: Body) -> None:
    with pytest.raises(Violation, match="its disk holds term 2"):
        DurablePromises(_logs(synced=0)).see(_sent(body))


def test_a_vote_for_somebody_else_must_not_be_told() -> None:
    with pytest.raises(Violation, match="its disk holds a vote for c"):
        DurablePromises(_logs(synced=4)).see(_sent(VoteReply(True, False, 3), "d"))
