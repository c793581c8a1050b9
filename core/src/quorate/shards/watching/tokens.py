"""The resume tokens of watches, opaque outside this module."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from google.protobuf.message import DecodeError

from quorate.plugin.shard_id import ShardId
from quorate.v1 import token_pb2


class InvalidTokenError(ValueError):
    """The bytes are not a token of a watch."""

    def __init__(self) -> None:
        super().__init__(
            "The watch token cannot be read: give back one that a watch gave, or none at all."
        )


@dataclass(frozen=True)
class WatchToken:
    """The position of a watch in each of its shards.

    A revision is after every event of its command.
    """

    cluster: bytes
    generation: int
    revisions: Mapping[ShardId, int]

    def of(self, shards: Collection[ShardId]) -> Self:
        """Return the positions in these shards alone."""
        kept = {shard: at for shard, at in self.revisions.items() if shard in shards}
        return replace(self, revisions=kept)

    def encode(self) -> bytes:
        """Return the bytes for a client; equal tokens have equal bytes."""
        token = token_pb2.WatchToken(cluster_id=self.cluster, generation=self.generation)
        for shard, revision in sorted(self.revisions.items()):
            token.positions.add(group=shard.group, shard=shard.number, revision=revision)
        encoded: Final = token.SerializeToString(deterministic=True)
        return encoded

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Parse a client's bytes; raises `InvalidTokenError`."""
        try:
            token = token_pb2.WatchToken.FromString(content)
        except DecodeError:
            raise InvalidTokenError from None
        revisions = {ShardId(each.group, each.shard): each.revision for each in token.positions}
        read = cls(token.cluster_id, token.generation, revisions)
        if not revisions or read.encode() != content:
            raise InvalidTokenError
        return read
