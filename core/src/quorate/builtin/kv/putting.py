"""Batches of usual puts, read once, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final, Self

from quorate.builtin.kv.apply import TTL_TAG_AT, created_in, put_pairs, value_head
from quorate.builtin.kv.families import LONGEST_KEY, PAIRS, shard_of
from quorate.plugin import Txn
from quorate.plugin.advanced import BatchColumns
from quorate.v1 import kv_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

_COLUMNS: Final = BatchColumns(pb.PutPairs, "pairs")
#: The tag of the value: without a time to live, it follows on the revision of the creation.
_TAG: Final = value_head(1)[:1]
#: Returns the tag after the revision in the first bytes of a row; b"" where there is none.
_tag_of: Final = itemgetter(TTL_TAG_AT)


@lru_cache(maxsize=4_096)
def _length(size: int) -> bytes:
    """Return the length of a value as it follows its tag."""
    return value_head(size)[len(_TAG) :]


class Puts:
    """A command whose puts have values, no time to live and no condition."""

    __slots__ = ("_command", "_values", "keys", "shard_keys")

    def __init__(self, command: pb.PutPairs, keys: list[bytes], values: list[bytes]) -> None:
        self._command: Final = command
        self._values: Final = values
        self.keys: Final[Sequence[bytes]] = keys
        #: The same object where no key has a slash.
        self.shard_keys: Final[Sequence[bytes]] = (
            list(map(shard_of, keys)) if b"/" in b"".join(keys) else keys
        )

    @classmethod
    def usual(cls, command: pb.PutPairs) -> Self | None:
        """Return a command that is certainly valid, and has usual puts; None for another one."""
        for first in command.pairs[:1]:
            # The others are mostly like it, and would be read for nothing.
            if not first.value or first.ttl_ms or first.HasField("expected_revision"):
                return None
        columns = _COLUMNS.read(command)
        if not columns.all_have("key", "value") or columns.any_has("ttl_ms", "expected_revision"):
            return None
        keys = columns.values("key")
        if max(map(len, keys), default=0) > LONGEST_KEY:
            return None
        return cls(command, keys, columns.values("value"))

    def apply(self, txn: Txn) -> BatchReply:
        """Write the pairs, as `put_pairs` does."""
        keys, values = self.keys, self._values
        created = created_in(txn.revision) + _TAG
        found = txn.get_starts(PAIRS, keys, len(created))
        begins = [created if old is None else old for old in found]
        if set(map(_tag_of, begins)) - {_TAG}:
            # A former row has a time to live, or no value.
            return put_pairs(txn, self._command)
        txn.put_joined(PAIRS, keys, begins, map(_length, map(len, values)), values)
        return BatchReply(items=len(keys))
