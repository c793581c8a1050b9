from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st
from quorate.plugin import keys
from quorate.plugin.keys import Part

MOST = 2**64 - 1

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text(
    st.sampled_from("\x00\x01ab\x7fé\U0010ffff"), max_size=6
)
raw = st.binary(max_size=6) | st.lists(
    st.sampled_from([b"\x00", b"\x01", b"\xff", b"a"]), max_size=6
).map(b"".join)
numbers = st.integers(-MOST, MOST) | st.sampled_from(
    [sign * (2**bits + near) for sign in (-1, 1) for bits in range(0, 64, 8) for near in (-1, 0, 1)]
)
parts = texts | raw | numbers
sequences = st.lists(parts, max_size=4).map(tuple)
alike = st.lists(st.sampled_from([texts, raw, numbers]), max_size=3).flatmap(
    lambda kinds: st.tuples(st.tuples(*kinds), st.tuples(*kinds))
)

RANK = {bytes: 0, str: 1, int: 2}


def ranked(sequence: tuple[Part, ...]) -> list[tuple[int, Part]]:
    """What parts of different types are compared by."""
    return [(RANK[type(part)], part) for part in sequence]


def within(key: bytes, bounds: tuple[bytes, bytes]) -> bool:
    return bounds[0] <= key < bounds[1]


@given(sequences)
def test_a_key_unpacks_to_its_parts(sequence: tuple[Part, ...]) -> None:
    assert keys.unpack(keys.pack(*sequence)) == sequence


@given(alike)
def test_keys_of_one_shape_sort_as_their_parts(
    pair: tuple[tuple[Part, ...], tuple[Part, ...]],
) -> None:
    left, right = pair
    assert (keys.pack(*left) < keys.pack(*right)) == (left < right)


@given(sequences, sequences)
def test_keys_of_any_shape_sort_bytes_before_text_before_integers(
    left: tuple[Part, ...], right: tuple[Part, ...]
) -> None:
    assert (keys.pack(*left) < keys.pack(*right)) == (ranked(left) < ranked(right))


@example(("a",), (), ("a\x00",))
@example((b"a",), (), (b"a\x00\xff",))
@given(sequences, sequences, sequences)
def test_a_prefix_covers_the_keys_that_begin_with_its_parts_and_no_others(
    head: tuple[Part, ...], tail: tuple[Part, ...], other: tuple[Part, ...]
) -> None:
    bounds = keys.prefix(*head)
    assert within(keys.pack(*head, *tail), bounds)
    assert within(keys.pack(*other), bounds) == (ranked(other)[: len(head)] == ranked(head))


def begins(key: tuple[Part, ...], head: tuple[Part, ...], last: str | bytes) -> bool:
    if ranked(key)[: len(head)] != ranked(head) or len(key) == len(head):
        return False
    part = key[len(head)]
    if isinstance(part, str) and isinstance(last, str):
        return part.startswith(last)
    return isinstance(part, bytes) and isinstance(last, bytes) and part.startswith(last)


@given(sequences, texts, texts, sequences)
def test_an_opening_covers_the_names_that_begin_with_its_text(
    head: tuple[Part, ...], last: str, rest: str, tail: tuple[Part, ...]
) -> None:
    assert within(keys.pack(*head, last + rest, *tail), keys.opening(*head, last))


@given(sequences, raw, raw, sequences)
def test_an_opening_covers_the_bytes_that_begin_with_its_bytes(
    head: tuple[Part, ...], last: bytes, rest: bytes, tail: tuple[Part, ...]
) -> None:
    assert within(keys.pack(*head, last + rest, *tail), keys.opening(*head, last))


@given(sequences, texts | raw, sequences, st.booleans())
def test_an_opening_covers_no_others(
    head: tuple[Part, ...], last: str | bytes, other: tuple[Part, ...], near: bool
) -> None:
    key = (*head, *other) if near else other
    assert within(keys.pack(*key), keys.opening(*head, last)) == begins(key, head, last)


@pytest.mark.parametrize("parts", [(), ("a", 1), (True,)])
def test_an_opening_needs_a_last_part_that_can_go_on(parts: tuple[Part, ...]) -> None:
    with pytest.raises(ValueError, match="must be text or bytes"):
        keys.opening(*parts)


@given(raw.filter(lambda start: start.strip(b"\xff") != b""), raw, raw)
def test_after_is_the_smallest_bytes_above_everything_that_begins_alike(
    start: bytes, rest: bytes, other: bytes
) -> None:
    end = keys.after(start)
    assert start + rest < end
    assert other.startswith(start) == (start <= other < end)


@pytest.mark.parametrize("start", [b"", b"\xff", b"\xff\xff"])
def test_nothing_is_after_0xff_alone(start: bytes) -> None:
    with pytest.raises(ValueError, match="nothing is larger"):
        keys.after(start)


@given(st.binary(max_size=12) | st.lists(st.binary(max_size=3), max_size=5).map(b"\x00".join))
def test_garbage_is_refused_with_a_value_error_and_the_rest_is_canonical(key: bytes) -> None:
    try:
        unpacked = keys.unpack(key)
    except ValueError:
        return
    assert keys.pack(*unpacked) == key


@pytest.mark.parametrize(
    "key",
    [
        b"\x01",
        b"\x02a",
        b"\x02a\x00\xff",
        b"\x02\xff\x00",
        b"\x00",
        b"\x03",
        b"\x0b" + b"\x00" * 9,
        b"\x1d" + b"\x01" * 9,
        b"\x15",
        b"\x1c" + b"\x01" * 7,
        b"\x15\x00",
        b"\x16\x00\x01",
        b"\x13\xff",
        b"\x12\xff\xfe",
        b"\xff",
    ],
)
def test_bytes_that_are_no_packed_key_are_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a packed key|codec can't decode"):
        keys.unpack(key)


@pytest.mark.parametrize("number", [MOST + 1, -MOST - 1, 2**100])
def test_an_integer_of_more_than_64_bits_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="at most 64 allowed"):
        keys.pack(number)


@pytest.mark.parametrize("part", [True, False, None, 1.5, bytearray(b"a"), ("a",)])
def test_a_part_of_another_type_is_refused(part: Part) -> None:
    with pytest.raises(TypeError, match="a key part is str, bytes or int"):
        keys.pack("a", part)


def test_text_that_has_no_utf8_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        keys.pack("\ud800")


@pytest.mark.parametrize(
    ("sequence", "packed"),
    [
        ((), b""),
        (("a", "b"), b"\x02a\x00\x02b\x00"),
        ((b"\x00\xff",), b"\x01\x00\xff\xff\x00"),
        (("a\x00",), b"\x02a\x00\xff\x00"),
        ((0, 1, 255, 256), b"\x14\x15\x01\x15\xff\x16\x01\x00"),
        ((-1, -255, -256), b"\x13\xfe\x13\x00\x12\xfe\xff"),
        ((MOST, -MOST), b"\x1c" + b"\xff" * 8 + b"\x0c" + b"\x00" * 8),
    ],
)
def test_the_format_stays_as_it_is_on_disk(sequence: tuple[Part, ...], packed: bytes) -> None:
    assert keys.pack(*sequence) == packed


def test_nothing_lies_between_a_key_and_what_is_behind_it() -> None:
    assert b"a" < keys.successor(b"a") <= b"a\x00"
