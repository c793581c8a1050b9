"""Waiting after failures."""

from quorate.control.failures import Backoff


def test_each_failure_in_a_row_waits_twice_as_long_up_to_the_bound() -> None:
    backoff = Backoff(1.0, 5.0)

    assert [backoff.failed() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_a_success_begins_anew() -> None:
    backoff = Backoff(1.0, 5.0)
    backoff.failed()
    backoff.succeeded()

    assert (backoff.failures, backoff.failed()) == (0, 1.0)
