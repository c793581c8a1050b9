"""Blocks of ours are read by the package hpack, and its blocks by us."""

from __future__ import annotations

from contextlib import suppress

import hpack
import pytest
from hypothesis import given, strategies as st
from quorate.http2.hpack import (
    Decoder,
    Field,
    HeaderListTooLargeError,
    HpackError,
    huffman,
    plain_block,
)

_NAMES = st.sampled_from([b":path", b":status", b"te", b"grpc-timeout", b"authorization", b"x-a"])
_FIELDS = st.lists(st.tuples(_NAMES, st.binary(max_size=200)), max_size=8).map(tuple)
#: A list of fields, and the size that the table gets before it; -1: it stays.
_STEPS = st.lists(st.tuples(_FIELDS, st.sampled_from([-1, -1, -1, 0, 64, 300, 4_096])))


def decoder(list_bytes: int = 1 << 20) -> Decoder[list[Field]]:
    return Decoder(list, 4_096, list_bytes)


@given(_FIELDS)
def test_what_is_encoded_is_read_by_another_implementation(fields: tuple[Field, ...]) -> None:
    block = plain_block(fields, {b"authorization"})
    found = hpack.Decoder().decode(block, raw=True)
    assert [(bytes(name), bytes(value)) for name, value in found] == list(fields)


@given(_STEPS)
def test_what_another_implementation_encodes_is_read(
    steps: list[tuple[tuple[Field, ...], int]],
) -> None:
    theirs, ours = hpack.Encoder(), decoder()
    for fields, size in steps:
        if size >= 0:
            theirs.header_table_size = size
        block = theirs.encode(fields)
        assert ours.decode(block) == list(fields)


@given(st.binary())
def test_a_string_comes_back_from_its_huffman_code(text: bytes) -> None:
    assert huffman.decode(huffman.encode(text)) == text


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(block: bytes) -> None:
    with suppress(HpackError):
        decoder().decode(block)


def test_a_block_that_comes_again_is_not_read_again() -> None:
    ours, block = decoder(), plain_block([(b":path", b"/a"), (b"x", b"1")])
    assert ours.decode(block) is ours.decode(block)


def test_a_remembered_block_is_forgotten_with_the_table_that_it_was_read_with() -> None:
    theirs, ours = hpack.Encoder(), decoder()
    first = theirs.encode([(b"x-a", b"1")])
    assert ours.decode(first) == [(b"x-a", b"1")]
    second = theirs.encode([(b"x-a", b"1")])
    assert ours.decode(second) == [(b"x-a", b"1")]
    ours.decode(theirs.encode([(b"x-b", b"2")]))
    # The same bytes name the newest field of the table, which is another one now.
    assert ours.decode(second) == [(b"x-b", b"2")]


def test_a_list_over_the_bound_is_refused_and_its_fields_stay_in_the_table() -> None:
    theirs, ours = hpack.Encoder(), decoder(100)
    with pytest.raises(HeaderListTooLargeError):
        ours.decode(theirs.encode([(b"x-a", b"1"), (b"x-b", b"v" * 100)]))
    assert ours.decode(theirs.encode([(b"x-a", b"1")])) == [(b"x-a", b"1")]


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",
        b"\xff\xff\xff\xff\xff\xff\x01",
        b"\x3f\xe2\x1f",
        b"\x82\x20",
        b"\x40\x01a",
        b"\x00\x83\xff\xff\xff\x01b",
    ],
    ids=["index 0", "endless integer", "large table", "late update", "no value", "end in a string"],
)
def test_what_no_encoder_makes_is_refused(block: bytes) -> None:
    with pytest.raises(HpackError):
        decoder().decode(block)


def test_a_secret_is_never_put_into_a_table() -> None:
    block = plain_block([(b"authorization", b"Bearer x")], {b"authorization"})
    # Literal, never indexed, and a name of the static table.
    assert block[0] & 0xF0 == 0x10
