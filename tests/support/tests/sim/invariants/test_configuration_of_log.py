import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.facts import Appended, Fact, Opened, Reset, Seen, Truncated
from tests.support.sim.history import Violation
from tests.support.sim.invariants.configuration_of_log import ConfigurationOfLog

A = Peer("a", 1)


def _configured(*nodes: str) -> Configuration:
    return Configuration.of(Member(Peer(node, 1)) for node in nodes)


def _appended(index: int, configuration: Configuration) -> Appended:
    entry = Entry(index, 1, EntryKind.CONFIG, configuration.encode())
    return Appended("s0", A, Position(index - 1, 1), (entry,))


OLD, NEW = _configured("a", "b"), _configured("a", "b", "c")


def _judge(*facts: Fact) -> ConfigurationOfLog:
    judge = ConfigurationOfLog()
    judge.see(Opened("s0", A, Position(0, 0), (), (), HardState(1, None), 0, OLD))
    for fact in facts:
        judge.see(fact)
    return judge


HISTORIES = [
    ((), OLD, NEW),
    ((_appended(5, NEW),), NEW, OLD),
    ((_appended(5, NEW), Truncated("s0", A, 5)), OLD, NEW),
    ((Reset("s0", A, Position(9, 1), NEW),), NEW, OLD),
]


def _seen(configuration: Configuration) -> Seen:
    return Seen("s0", A, False, 1, 0, 0, configuration)


@pytest.mark.parametrize(("history", "right", "wrong"), HISTORIES)
def test_the_log_says_who_is_a_member(
    history: tuple[Fact, ...], right: Configuration, wrong: Configuration
) -> None:
    _judge(*history).see(_seen(right))
    with pytest.raises(Violation, match="acts under"):
        _judge(*history).see(_seen(wrong))
