from __future__ import annotations

from quorate.plugin import Invalid, Rejected


def test_a_refusal_has_a_code_and_a_message() -> None:
    refusal = Rejected("NOT_FOUND", "topic a")
    assert (refusal.code, refusal.message) == ("NOT_FOUND", "topic a")
    assert str(refusal) == "NOT_FOUND: topic a"


def test_a_refusal_needs_no_message() -> None:
    assert (Rejected("FENCED").message, str(Rejected("FENCED"))) == ("", "FENCED")


def test_an_invalid_message_names_the_field_and_the_reason() -> None:
    invalid = Invalid("tenant", "must not be empty")
    assert (invalid.field, invalid.reason) == ("tenant", "must not be empty")
    assert str(invalid) == "tenant: must not be empty"
