import pytest
from hypothesis import example, given, strategies as st
from quorate.apply.entries import (
    EntryBatch,
    EntryError,
    LoggedCommand,
    Stamp,
    command_bytes,
    decode,
    encode,
    index_of,
    join,
    revision_of,
    whole,
)
from quorate.v1 import entry_pb2

_UINT64 = st.integers(0, 2**64 - 1)
_COMMANDS = st.builds(
    LoggedCommand,
    st.text(max_size=9),
    st.binary(max_size=9),
    st.lists(st.integers(0, 1_023), max_size=3),
    st.none() | st.builds(Stamp, _UINT64, _UINT64, _UINT64),
    st.booleans(),
)
_BATCHES = st.builds(
    EntryBatch, st.integers(-9, 2**62), _UINT64, _UINT64, st.lists(_COMMANDS, max_size=4)
)


@given(_BATCHES)
def test_what_is_encoded_is_read_back(batch: EntryBatch) -> None:
    read = decode(encode(batch))

    assert read == batch._replace(
        commands=[each._replace(slots=list(each.slots)) for each in read.commands]
    )
    assert [each._replace(slots=list(each.slots)) for each in read.commands] == batch.commands


def test_an_entry_is_its_head_and_the_frames_of_its_commands() -> None:
    commands = [LoggedCommand("a", b"1"), LoggedCommand("b", b"2", [7], Stamp(1, 2, 0))]
    frames = [command_bytes(each) for each in commands]
    head = join(5, [], checked_index=3, checksum=4)

    assert join(5, frames, checked_index=3, checksum=4) == head + b"".join(frames)
    assert encode(EntryBatch(5, 3, 4, commands)) == head + b"".join(frames)


@given(_COMMANDS)
@example(LoggedCommand("a" * 200, b"b" * 20_000, [1_023]))
def test_a_frame_is_what_protobuf_makes_of_the_command(command: LoggedCommand) -> None:
    stamp = None if command.stamp is None else entry_pb2.Stamp(**command.stamp._asdict())
    message = entry_pb2.LoggedCommand(**{**command._asdict(), "stamp": stamp})

    batch = entry_pb2.EntryBatch(commands=[message])
    assert command_bytes(command) == batch.SerializeToString(deterministic=True)


def test_other_bytes_are_refused() -> None:
    with pytest.raises(EntryError, match="its 3 bytes are no commands"):
        decode(b"\xff\xff\xff")


def test_a_revision_is_index_and_position() -> None:
    assert revision_of(3, 2) == 3 << 20 | 2
    assert index_of(revision_of(3, 2)) == 3
    assert whole(3) == revision_of(4, 0) - 1
