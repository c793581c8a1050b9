"""Every value that a command prints comes back from JSON and YAML, by the type of its column."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping

import yaml
from hypothesis import given, strategies as st
from quorate.cli.encoding import json_line, json_text, plain, yaml_text

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | TEXTS
    | st.binary(max_size=20)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


def back(read: object, like: object) -> object:
    """Return what was read as a value of the type that a column has."""
    match like:
        case bool() | str() | None:
            return read
        case int() | float():
            assert isinstance(read, int | float | str)
            return type(like)(read)
        case bytes():
            if isinstance(read, dict):
                return base64.b64decode(read["base64"], validate=True)
            assert isinstance(read, str)
            return read.encode()
        case list():
            assert isinstance(read, list)
            return [back(*each) for each in zip(read, like, strict=True)]
        case Mapping():
            assert isinstance(read, dict)
            assert sorted(read) == sorted(like)
            return {name: back(read[name], like[name]) for name in like}
    raise AssertionError(like)


def same(one: object, other: object) -> bool:
    """Return whether values are equal; a number that is none is equal to itself here."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, list) and isinstance(other, list):
        return all(map(same, one, other)) and len(one) == len(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other


def refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


@given(VALUES)
def test_a_value_comes_back_from_json(value: object) -> None:
    for text in (json_line(value), json_text(value)):
        assert same(back(json.loads(text, parse_constant=refuse), value), value)


@given(VALUES)
def test_a_value_comes_back_from_yaml(value: object) -> None:
    assert same(back(yaml.safe_load(yaml_text(value)), value), value)


@given(VALUES)
def test_no_reader_rounds_a_number(value: object) -> None:
    def exact(word: str) -> int:
        assert abs(int(word)) < 1 << 53
        return int(word)

    json.loads(json_line(value), parse_int=exact)


def test_bytes_are_told_from_the_text_that_stands_for_them() -> None:
    assert plain(b"\xff\x00") == {"base64": "/wA="}
    assert plain("/wA=") == plain(b"/wA=") == "/wA="
    assert plain('{"base64": "/wA="}') == '{"base64": "/wA="}'
