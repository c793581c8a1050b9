"""Loads give way to the other work of a cluster."""

from __future__ import annotations

import pytest
from quorate_spark.source.adaptive_rate import LONGEST_REST_S, PROMPT_S, AdaptiveRate


def answered(rate: AdaptiveRate, at_s: float, took_s: float, times: int) -> float:
    """Answer batches one after another, and return when the last was."""
    for _ in range(times):
        began_s = max(at_s, rate.rests_until_s)
        at_s = began_s + took_s
        rate.answered(began_s, at_s)
    return at_s


def test_prompt_answers_bring_more_batches_at_once_up_to_the_most() -> None:
    rate = AdaptiveRate(4)
    assert rate.at_once == 1

    at_s = answered(rate, 0, PROMPT_S / 2, 10)
    assert 1 < rate.at_once < 4

    answered(rate, at_s, PROMPT_S / 2, 100)
    assert rate.at_once == 4
    assert rate.rests_until_s < 0


def test_slow_answers_bring_fewer_and_then_rests() -> None:
    rate = AdaptiveRate(4)
    at_s = answered(rate, 0, PROMPT_S / 4, 100)

    at_s = answered(rate, at_s, 3 * PROMPT_S, 1)
    assert rate.at_once == 2

    at_s = answered(rate, at_s, 3 * PROMPT_S, 20)
    assert rate.at_once == 1
    assert rate.rests_until_s - at_s > 3 * PROMPT_S

    at_s = answered(rate, at_s, 100 * PROMPT_S, 1)
    assert rate.rests_until_s - at_s == LONGEST_REST_S


def test_a_load_never_comes_to_rest_altogether() -> None:
    slow, slower = AdaptiveRate(4), AdaptiveRate(4)
    for rate, times in ((slow, 10), (slower, 1_000)):
        at_s = answered(rate, 0, PROMPT_S / 4, 1)
        at_s = answered(rate, at_s, 3 * PROMPT_S, times)
        assert rate.rests_until_s - at_s == pytest.approx(9 * PROMPT_S)


def test_a_quick_cluster_is_not_expected_to_stay_as_quick() -> None:
    rate = AdaptiveRate(4)

    at_s = answered(rate, 0, PROMPT_S / 100, 1)
    # The difference of two times is rounded.
    answered(rate, at_s, PROMPT_S - 1e-9, 100)

    assert rate.at_once == 4


def test_batches_of_one_round_count_once() -> None:
    one, many = AdaptiveRate(4), AdaptiveRate(4)
    for rate in (one, many):
        answered(rate, 0, PROMPT_S / 4, 100)

    one.answered(100, 101)
    for _ in range(4):
        many.answered(100, 101)

    assert many.at_once == one.at_once


def test_the_load_is_quick_again_when_its_cluster_is() -> None:
    rate = AdaptiveRate(4)
    at_s = answered(rate, 0, PROMPT_S / 4, 1)
    at_s = answered(rate, at_s, 3 * PROMPT_S, 20)

    at_s = answered(rate, at_s, PROMPT_S / 4, 100)

    assert rate.at_once == 4
    assert rate.rests_until_s < at_s


def test_a_cluster_that_takes_long_for_every_batch_is_not_taken_for_a_busy_one() -> None:
    rate = AdaptiveRate(4)

    answered(rate, 0, 5 * PROMPT_S, 100)

    assert rate.at_once == 4
