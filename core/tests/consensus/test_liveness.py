from __future__ import annotations

from quorate.consensus.liveness import Liveness
from quorate.consensus.timing import Timing

TIMING = Timing(heartbeat_s=0.1, election_min_s=0.5)


class Heard:
    """A node that hears another one, on a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.liveness = Liveness(lambda: self.now, TIMING, 1, lambda epoch: None)

    def silence(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.liveness.beat()

    def hear(self, times: int = 1, epoch: int = 7) -> None:
        for _ in range(times):
            self.silence(0.1)
            self.liveness.hear("b", epoch)


def test_a_node_is_silent_after_the_shortest_election_timeout() -> None:
    heard = Heard()
    heard.hear(10)
    heard.silence(0.4)
    assert heard.liveness.lives("b")
    heard.silence(0.3)
    assert not heard.liveness.lives("b")


def test_a_node_that_stood_still_is_left_more_time_for_a_while() -> None:
    heard = Heard()
    heard.hear()
    heard.silence(0.8)
    heard.hear()
    heard.silence(1.2)
    assert heard.liveness.lives("b")
    heard.silence(1.0)
    assert not heard.liveness.lives("b")

    heard.hear(100)
    heard.silence(0.7)
    assert not heard.liveness.lives("b")


def test_it_is_never_left_more_than_some_elections() -> None:
    heard = Heard()
    heard.hear()
    heard.silence(30)
    heard.hear()
    heard.silence(2.2)
    assert not heard.liveness.lives("b")


def test_a_node_that_was_started_again_is_not_taken_for_a_slow_one() -> None:
    heard = Heard()
    heard.hear(epoch=7)
    heard.silence(0.8)
    heard.hear(epoch=8)
    heard.silence(0.7)
    assert not heard.liveness.lives("b")
