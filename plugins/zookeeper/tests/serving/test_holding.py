"""What a node holds for clients who do not take it."""

from __future__ import annotations

from quorate_zookeeper.serving.holding import LARGE, Held


class Client:
    def __init__(self, held: Held) -> None:
        self._held = held
        self.held_bytes = 0
        self.evicted = False

    def evict(self) -> None:
        self.evicted = True

    def holds(self, size: int) -> None:
        self.held_bytes = size
        self._held.mind(self)


def test_who_takes_nothing_for_the_longest_time_is_evicted() -> None:
    held = Held(10 * LARGE)
    first, second, third = (Client(held) for _ in range(3))
    for client in (first, second, third):
        client.holds(3 * LARGE)
    # The first one takes some: the second is the one that has made no progress for longest.
    first.holds(2 * LARGE)
    third.holds(6 * LARGE)
    assert [each.evicted for each in (first, second, third)] == [False, True, False]
    assert len(held) == 8 * LARGE


def test_what_was_taken_since_is_seen_before_anybody_is_evicted() -> None:
    held = Held(4 * LARGE)
    quick, other = Client(held), Client(held)
    quick.holds(3 * LARGE)
    quick.held_bytes = 0
    other.holds(3 * LARGE)
    assert not quick.evicted
    assert not other.evicted
    assert len(held) == 3 * LARGE
    other.holds(0)
    assert len(held) == 0


def test_one_that_holds_too_much_alone_is_evicted() -> None:
    held = Held(4 * LARGE)
    client = Client(held)
    client.holds(5 * LARGE)
    assert client.evicted
    assert len(held) == 0
