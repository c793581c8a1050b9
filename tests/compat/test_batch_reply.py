"""Recorded answers and older clients hold these bytes."""

from pathlib import Path

from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision

GOLDEN = Path(__file__).parent / "golden" / "batch_reply.bin"

REPLY = BatchReply(
    items=3,
    refusals=[ItemRefusal(item=1, code="NOT_FOUND", message="ada of oslo")],
    replies=[b"\x01\x02", b"", b"\xff"],
    revisions=[
        ShardRevision(shard=0, revision=(7 << 20) | 5),
        ShardRevision(shard=3, revision=(2**43 << 20) | 1),
    ],
)


def test_a_reply_is_encoded_as_ever() -> None:
    assert REPLY.SerializeToString(deterministic=True) == GOLDEN.read_bytes()


def test_a_reply_of_old_is_understood() -> None:
    assert BatchReply.FromString(GOLDEN.read_bytes()) == REPLY
