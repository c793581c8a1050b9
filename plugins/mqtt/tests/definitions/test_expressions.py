"""Expressions of rewrite rules: none that a broker could need exponential time for."""

from __future__ import annotations

import re

import pytest
from quorate_mqtt.expressions import UnsafeExpressionError, check_linear


@pytest.mark.parametrize(
    "expression",
    [
        "^y/(.+)/z/(.+)$",
        "^(sensors|meters)/([^/]+)/(.*)$",
        r"^a/\(x+\)+/b$",
        "^a/[(a+)+]*/b$",
        "^[]a]+[^]b]+$",
        "(?i)^(?P<first>[a-z]{1,8})/(?:x)?(/.*)?$",
        r"^\d{4}-\d{2}/(?:ab){3}$",
        "a{,}b{x}c{",
        "(ab)+(?:cd)*",
        "(a+)?(a+){1}",
    ],
)
def test_what_every_engine_is_quick_with_is_taken(expression: str) -> None:
    re.compile(expression)
    check_linear(expression)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(a+)+$", "repeats a group"),
        ("(?:a*)*b", "repeats a group"),
        ("((a|aa))+$", "repeats a group"),
        ("(a?){30}a{30}", "repeats a group"),
        ("((ab{2,})c){2,}", "repeats a group"),
        ("(x+x+)+?y", "repeats a group"),
        ("(?=a)b", "looks around"),
        ("(?<!a)b", "looks around"),
        ("(?(1)a|b)", "looks around"),
        ("(?>a+)b", "looks around"),
        (r"(a+)\1", "refers back"),
        ("((a{20}){20}){20}", "8000 times"),
        ("a{2000}", "2000 times"),
    ],
)
def test_what_some_engine_may_hang_for_is_refused(expression: str, said: str) -> None:
    with pytest.raises(UnsafeExpressionError, match=said):
        check_linear(expression)
