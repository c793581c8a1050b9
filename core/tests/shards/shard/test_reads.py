from __future__ import annotations

from quorate.shards.shard.reads import Freshness


def test_nothing_is_known_at_first() -> None:
    assert Freshness().at == float("-inf")


def test_it_is_as_fresh_as_the_newest_word_that_is_applied() -> None:
    freshness = Freshness()
    freshness.update(1.0, 10, applied=10)
    assert freshness.at == 1.0
    freshness.update(2.0, 12, applied=10)
    freshness.update(3.0, 15, applied=11)
    assert freshness.at == 1.0
    freshness.applied(12)
    assert freshness.at == 2.0
    freshness.applied(14)
    assert freshness.at == 2.0
    freshness.applied(15)
    assert freshness.at == 3.0


def test_one_that_never_catches_up_still_comes_further() -> None:
    """There is always more than is applied, a second later each time."""
    freshness = Freshness()
    for second in range(100):
        freshness.update(float(second), 10 * second, applied=10 * second - 15)
        freshness.applied(10 * second - 11)

    assert 95.0 <= freshness.at < 99.0


def test_an_old_word_changes_nothing() -> None:
    freshness = Freshness()
    freshness.update(2.0, 10, applied=10)
    freshness.update(1.0, 20, applied=10)

    assert freshness.at == 2.0
