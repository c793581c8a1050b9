from hypothesis import given, strategies as st
from quorate.builtin.kv.apply import created_in, kept_of, row_of
from quorate.v1.kv_pb2 import KeyedPair, Pair

REVISIONS = st.integers(1, (1 << 64) - 1)
TTLS = st.one_of(st.just(0), st.integers(1, (1 << 64) - 1))
VALUES = st.one_of(st.binary(), st.sampled_from([127, 128, 16_383, 16_384]).map(bytes))


@given(REVISIONS, TTLS, VALUES)
def test_a_row_is_what_its_message_serializes_to(revision: int, ttl_ms: int, value: bytes) -> None:
    row = row_of(created_in(revision), value, ttl_ms)

    message = Pair(created_revision=revision, ttl_ms=ttl_ms, value=value)
    assert row == message.SerializeToString(deterministic=True)
    assert kept_of(row) == (created_in(revision), ttl_ms > 0)


def test_the_bytes_of_a_row_are_these() -> None:
    row = row_of(created_in(0x0102), b"v", 300)

    assert row == bytes.fromhex("090201000000000000 10ac02 1a0176")


def test_a_reader_gets_the_fields_of_the_row() -> None:
    row = row_of(created_in(7), b"v", 300)

    assert KeyedPair.FromString(row) == KeyedPair(created_revision=7, ttl_ms=300, value=b"v")
