"""The grace of liveness deadlines, against the rule in its plainest form."""

from hypothesis import given, strategies as st
from quorate.control.timers import Grace

EXPECTED_MS = 100

gaps = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 60_000)), max_size=30)
ttls = st.integers(1, 60_000)


def plain(began_ms: int, looks: list[int], at_ms: int, ttl_ms: int) -> int:
    """Remember everything."""
    since_ms, before_ms = began_ms, began_ms
    for now_ms in looks:
        if 4 * (now_ms - before_ms - EXPECTED_MS) > ttl_ms:
            since_ms = now_ms
        before_ms = now_ms
    return max(at_ms, since_ms + ttl_ms)


@given(began_ms=st.integers(0, 10**13), gaps=gaps, ttl_ms=ttls, late_ms=st.integers(-9_999, 9_999))
def test_a_deadline_is_ripe_exactly_when_the_plain_rule_says(
    began_ms: int, gaps: list[int], ttl_ms: int, late_ms: int
) -> None:
    grace, looks, now_ms = Grace(began_ms), [], began_ms
    for gap_ms in gaps:
        now_ms += gap_ms
        looks.append(now_ms)
        grace.look(now_ms, EXPECTED_MS)
    at_ms = now_ms + late_ms

    # Old stalls may be forgotten once they delay nothing any more: what counts is whether it is
    # ripe by now.
    found_ms, right_ms = grace.ripe_at_ms(at_ms, ttl_ms), plain(began_ms, looks, at_ms, ttl_ms)
    assert (found_ms <= now_ms) == (right_ms <= now_ms)
    assert found_ms == right_ms or max(found_ms, right_ms) <= now_ms


@given(ttl_ms=ttls, stalls=st.integers(1, 50))
def test_what_is_remembered_of_stalls_is_bounded(ttl_ms: int, stalls: int) -> None:
    grace, now_ms = Grace(0), 0
    for _ in range(stalls):
        now_ms += EXPECTED_MS + ttl_ms
        grace.look(now_ms, EXPECTED_MS)

    assert len(grace._stalls) == 1
