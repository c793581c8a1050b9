from hypothesis import given, strategies as st
from quorate.plugin import Row, keys
from quorate_offset.families import group_key, offset_key
from quorate_offset.marks import generation_and_revision
from quorate_offset.offsets.rows import committed_offset, committed_part, offset_in, offset_row
from quorate_offset.v1.rows_pb2 import Mark, Offset

TIMES = st.integers(0, 2**64 - 1)
OFFSETS = st.integers(0, 2**63 - 1)


@given(OFFSETS, TIMES, st.sampled_from(["", "m", "é" * 200, "\x00"]))
def test_a_row_is_the_message_as_protobuf_writes_it(offset: int, at_ms: int, metadata: str) -> None:
    row = offset_row(offset, committed_part(at_ms), metadata)

    stored = Offset(offset=offset, committed_at_ms=at_ms, metadata=metadata)
    assert row == stored.SerializeToString(deterministic=True)
    assert offset_in(row) == offset


@given(st.sampled_from([0, 1, 9, 2**64 - 1]), st.integers(1, 2**64 - 1), TIMES, st.booleans())
def test_what_a_commit_needs_of_a_mark_is_read_without_a_message(
    generation: int, revision: int, at_ms: int, deleted: bool
) -> None:
    mark = Mark(
        generation=generation,
        revision=revision,
        committed_at_ms=at_ms,
        changed_at_ms=at_ms,
        deleted=deleted,
    )

    stored = mark.SerializeToString(deterministic=True)
    assert generation_and_revision(stored) == (generation, revision)


@given(*[st.sampled_from(["", "a", "a\x00", "\x00\xff", "é"])] * 4)
def test_the_key_of_a_group_is_its_packed_names(
    tenant: str, group: str, other_tenant: str, other: str
) -> None:
    assert group_key(tenant, group) == keys.pack(tenant, group)
    same = (tenant, group) == (other_tenant, other)
    assert (group_key(tenant, group) == group_key(other_tenant, other)) is same


@given(st.sampled_from(["a", "t/1", "\x00", "é"]), st.integers(0, 2**32 - 1), OFFSETS)
def test_an_offset_is_read_from_key_and_row(topic: str, partition: int, offset: int) -> None:
    group = group_key("acme", "billing")
    key = offset_key(group + keys.pack(topic), partition)
    assert key == keys.pack("acme", "billing", topic, partition)

    read = committed_offset(Row(key, offset_row(offset, committed_part(9), "m"), 5))

    assert (read.topic, read.partition, read.offset) == (topic, partition, offset)
    assert (read.committed_at_ms, read.metadata) == (9, "m")
