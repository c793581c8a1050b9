"""The format of the log on disk, a promise that tests/compat checks.

A shard's records lie together: its name, a zero byte, then what the record is. Every value begins
with a checksum over the key and the rest of the value, so that no record passes for another.
"""

from struct import Struct, error as StructError
from typing import Final, NamedTuple
from zlib import crc32

from quorate.consensus.journal import HardState, JournalDamagedError, Position
from quorate.consensus.messages import Entry, EntryKind, Peer

_CHECKSUM: Final = Struct(">I")
_INDEX: Final = Struct(">Q")
_ENTRY: Final = Struct(">QB")
_SENTINEL: Final = Struct(">QQ")
_HARD_STATE: Final = Struct(">IQQ?")
_ENTRY_PAYLOAD: Final = _CHECKSUM.size + _ENTRY.size

_HARD_STATE_TAG: Final = b"\x01"
_SENTINEL_TAG: Final = b"\x02"
_ENTRY_TAG: Final = b"\x03"


class SavedState(NamedTuple):
    """A hard state, and how many were saved so far: the number reveals a lost one."""

    number: int
    state: HardState


class Records:
    """The keys and values of one shard."""

    __slots__ = ("_entries", "end", "hard_state_key", "sentinel_key", "shard", "start")

    def __init__(self, shard: str) -> None:
        name = shard.encode()
        if b"\x00" in name:
            raise ValueError(f"the name of shard {shard!r} has a zero byte")
        self.shard: Final = shard
        #: Every key of the shard is in `start <= key < end`.
        self.start: Final = name + b"\x00"
        self.end: Final = name + b"\x01"
        self.hard_state_key: Final = self.start + _HARD_STATE_TAG
        self.sentinel_key: Final = self.start + _SENTINEL_TAG
        self._entries: Final = self.start + _ENTRY_TAG

    def entry_key(self, index: int) -> bytes:
        """Return the key of an entry; keys are in the order of indexes."""
        return self._entries + _INDEX.pack(index)

    def index_of(self, key: bytes) -> int:
        """Return the index in an entry's key."""
        index = key[len(self._entries) :]
        if not key.startswith(self._entries) or len(index) != _INDEX.size:
            raise self.damaged(f"has a record that is unknown to this version, {key.hex()}")
        return int(_INDEX.unpack(index)[0])

    def encode_entry(self, key: bytes, entry: Entry) -> bytes:
        """Return the value of an entry."""
        head = _ENTRY.pack(entry.term, entry.kind)
        checksum = crc32(entry.payload, crc32(head, crc32(key)))
        return b"".join((_CHECKSUM.pack(checksum), head, entry.payload))

    def decode_entry(self, key: bytes, value: bytes) -> Entry:
        """Return the entry of a key; raises `JournalDamagedError` naming its index."""
        index = self.index_of(key)
        self._check(key, value, f"entry {index}")
        try:
            term, kind = _ENTRY.unpack_from(value, _CHECKSUM.size)
            return Entry(index, term, EntryKind(kind), value[_ENTRY_PAYLOAD:])
        except (StructError, ValueError):
            raise self.damaged(f"cannot read entry {index}") from None

    def encode_sentinel(self, sentinel: Position) -> bytes:
        """Return the value of the sentinel."""
        return _sealed(self.sentinel_key, _SENTINEL.pack(sentinel.index, sentinel.term))

    def decode_sentinel(self, value: bytes) -> Position:
        """Return the sentinel."""
        body = self._check(self.sentinel_key, value, "where the log was cut")
        try:
            return Position(*_SENTINEL.unpack(body))
        except StructError:
            raise self.damaged("cannot read where the log was cut") from None

    def encode_hard_state(self, saved: SavedState) -> bytes:
        """Return the value of the hard state."""
        term, voted_for = saved.state
        replica, node = (0, "") if voted_for is None else (voted_for.replica, voted_for.node)
        head = _HARD_STATE.pack(saved.number, term, replica, voted_for is not None)
        return _sealed(self.hard_state_key, head + node.encode())

    def decode_hard_state(self, value: bytes) -> SavedState:
        """Return the hard state."""
        body = self._check(self.hard_state_key, value, "its term and vote")
        try:
            number, term, replica, voted = _HARD_STATE.unpack_from(body)
            node = body[_HARD_STATE.size :].decode()
        except (StructError, UnicodeDecodeError):
            raise self.damaged("cannot read its term and vote") from None
        return SavedState(number, HardState(term, Peer(node, replica) if voted else None))

    def damaged(self, what: str) -> JournalDamagedError:
        """Return the error for a damaged log of this shard."""
        return JournalDamagedError(
            f"The log of shard {self.shard} {what}: it is not what was written. This replica must"
            " not continue with it: replace it with `quorate member replace`."
        )

    def _check(self, key: bytes, value: bytes, what: str) -> bytes:
        body = value[_CHECKSUM.size :]
        if value[: _CHECKSUM.size] != _CHECKSUM.pack(crc32(body, crc32(key))):
            raise self.damaged(f"fails the checksum of {what}")
        return body


def _sealed(key: bytes, body: bytes) -> bytes:
    return _CHECKSUM.pack(crc32(body, crc32(key))) + body
