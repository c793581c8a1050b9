from __future__ import annotations

import pytest
from quorate.consensus.peer.incoming import STRANGER, Refused


def test_every_refusal_is_counted_and_the_first_of_a_kind_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = Refused({"a", "b"}.__contains__)
    for node, reason in (("a", "late"), ("a", "late"), ("b", "late"), ("a", "large")):
        refused.record(node, reason, "the detail")
    assert refused.counts == {("a", "late"): 2, ("b", "late"): 1, ("a", "large"): 1}
    assert [record.getMessage() for record in caplog.records] == [
        "refused from a: late (the detail)",
        "refused from b: late (the detail)",
        "refused from a: large (the detail)",
    ]


def test_strangers_are_counted_as_one_whatever_they_call_themselves() -> None:
    refused = Refused({"a"}.__contains__)
    for number in range(3):
        refused.record(f"invented {number}", "unknown", "")
    assert refused.counts == {(STRANGER, "unknown"): 3}
