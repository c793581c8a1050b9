"""The flight recorder: the last minutes of a node, in a file that survives a kill of its process.

    0       magic, the newest sequence, the place of the next record
    64      records, each at a multiple of 64 bytes: a head, then the body

When the file is full, the oldest records are overwritten. The file is mapped into memory, so a
record is in it as soon as it is written; it is never synced, so a loss of power may lose the last
ones. No record holds a key or a value.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any, Final
from zlib import crc32

#: The name of the file in a node's directory.
FILE: Final = "recorder"
#: Records of entries: proposed by this leader, and committed.
PROPOSED: Final = "proposed"
COMMITTED: Final = "committed"

_MAGIC: Final = b"QRECORD1"
_POSITION: Final = Struct(">8sQQ")
_UNIT: Final = 64
#: Checksum of all that follows, sequence, time in µs, kind, length of the body.
_HEAD: Final = Struct(">IQQBH")
_SEALED: Final = Struct(">QQBH")
#: Of entries: index of the first, term, number of entries, bytes; the shard and a text follow.
_ENTRIES: Final = Struct(">QIII")
_EVENT: Final = 0
_ENTRY_KINDS: Final = {PROPOSED: 1, COMMITTED: 2}
_KIND_NAMES: Final = {number: name for name, number in _ENTRY_KINDS.items()}
#: The longest text of a field, and the largest body of an event.
_TEXT: Final = 500
_MOST_BYTES: Final = 8_192
#: Maximum number of events of one kind to record in a second; more are counted.
_PER_SECOND: Final = 100

Record = dict[str, Any]


class Recorder:
    """Writes records on the event loop; records after `close` are dropped."""

    def __init__(self, path: Path, size: int, clock: Callable[[], float] = time.time) -> None:
        """Continue a file of this size, or begin one; raises `OSError`."""
        size = max(2, -(-size // _UNIT)) * _UNIT
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(file).st_size != size:
                os.ftruncate(file, 0)
            # Writing a page without room on the disk would kill the process.
            os.posix_fallocate(file, 0, size)
            self._map: mmap.mmap | None = mmap.mmap(file, size)
        finally:
            os.close(file)
        self.path: Final = path
        self._size: Final = size
        self._clock: Final = clock
        magic, self._sequence, self._at = _POSITION.unpack_from(self._map)
        if magic != _MAGIC or not _UNIT <= self._at <= size or self._at % _UNIT:
            self._sequence, self._at = 0, _UNIT
        #: The current second, its number of events of each kind, and the number left out.
        self._second = 0
        self._events: Final = Counter[str]()
        self._omitted: Final = Counter[str]()

    def entries(
        self, kind: str, shard: str, *, index: int, term: int, count: int, size: int, text: str = ""
    ) -> None:
        """Record entries of a shard from an index on."""
        numbers = _ENTRIES.pack(index, term, count, size)
        self._write(_ENTRY_KINDS[kind], numbers + f"{shard} {text[:_TEXT]}".encode())

    def event(self, kind: str, **fields: object) -> None:
        """Record an event, with the fields that are not empty.

        Beyond the limit of a kind per second, only the number of events is recorded.
        """
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._events.clear()
        self._events[kind] += 1
        if self._events[kind] > _PER_SECOND:
            self._omitted[kind] += 1
            return
        said = {name: _short(each) for name, each in fields.items() if each not in ("", None)}
        if omitted := self._omitted.pop(kind, 0):
            said["omitted before"] = omitted
        body = json.dumps({"kind": kind, **said}, separators=(",", ":")).encode()
        self._write(_EVENT, body if len(body) <= _MOST_BYTES else b'{"kind":"%b"}' % kind.encode())

    def read(self, **wanted: Any) -> list[Record]:
        """Return records as `select` does; in any thread."""
        found = self._map
        return [] if found is None else select(found[:], **wanted)

    def close(self) -> None:
        """Close the file."""
        if self._map is not None:
            self._map.close()
            self._map = None

    def _write(self, kind: int, body: bytes) -> None:
        into = self._map
        if into is None:
            return
        sequence = self._sequence + 1
        at, taken = self._at, -(-(_HEAD.size + len(body)) // _UNIT) * _UNIT
        if at + taken > self._size:
            at = _UNIT
            if at + taken > self._size:
                return
        sealed = _SEALED.pack(sequence, int(self._clock() * 1e6), kind, len(body)) + body
        into[at : at + 4 + len(sealed)] = crc32(sealed).to_bytes(4) + sealed
        self._sequence, self._at = sequence, at + taken
        _POSITION.pack_into(into, 0, _MAGIC, sequence, self._at)


def read(path: Path, **wanted: Any) -> list[Record]:
    """Return the records in a file as `select` does, whether or not its node runs.

    Raises `OSError`, and `ValueError` for a file of another kind.
    """
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise ValueError(f"{path} is not a flight recorder")
    return select(content, **wanted)


def select(
    content: bytes,
    *,
    kinds: Collection[str] = (),
    shard: str = "",
    request: str = "",
    index: int = 0,
    last: int = 0,
) -> list[Record]:
    """Return the records in the content of a file, oldest first.

    They are of any of these kinds, about a shard, about a request, about the entry at an index;
    `last` limits their number.
    """

    def wanted(record: Record) -> bool:
        return (
            (not kinds or record["kind"] in kinds)
            and shard in ("", record.get("shard"))
            and (not request or request in (record.get("request"), *record.get("requests", ())))
            and (not index or 0 <= index - record.get("index", index + 1) < record.get("count", 1))
        )

    texts = [request.encode()] if request else []
    if not texts and {*kinds}.isdisjoint(_ENTRY_KINDS):
        # The kind of an event is stored as text, that of an entry is not.
        texts = [b'"kind":' + json.dumps(each).encode() for each in kinds]
    places = {each for text in texts for each in _holding(content, text)}
    # The newest first, so that few are decoded if few are wanted.
    newest = sorted(places if texts else _records(content), reverse=True)
    records = (_decoded(content, *each) for each in newest)
    return list(islice(filter(wanted, records), last or None))[::-1]


#: Sequence, place, kind and length.
_Found = tuple[int, int, int, int]


def _records(content: bytes) -> Iterator[_Found]:
    """Yield all records."""
    at = _UNIT
    # The rest of a new file was never written.
    written = len(content.rstrip(b"\0"))
    while at < written:
        record = _at(content, at)
        if record is None:
            at += _UNIT
            continue
        yield record
        at += -(-(_HEAD.size + record[3]) // _UNIT) * _UNIT


def _holding(content: bytes, text: bytes) -> Iterator[_Found]:
    """Yield the records that hold a text, without reading all others of a large file."""
    most = _HEAD.size + _MOST_BYTES
    at = content.find(text, _UNIT)
    while at >= 0:
        for place in range(at // _UNIT * _UNIT, max(_UNIT, at - most) - 1, -_UNIT):
            record = _at(content, place)
            if record is not None:
                if place + _HEAD.size + record[3] >= at + len(text):
                    yield record
                break
        at = content.find(text, at + len(text))


def _at(content: bytes, place: int) -> _Found | None:
    """Return the record at a place, or None if no intact one begins there."""
    if place + _HEAD.size > len(content):
        return None
    checksum, sequence, _, kind, length = _HEAD.unpack_from(content, place)
    end = place + _HEAD.size + length
    if not sequence or end > len(content):
        return None
    whole = crc32(memoryview(content)[place + 4 : end]) == checksum
    return (sequence, place, kind, length) if whole else None


def _decoded(content: bytes, sequence: int, at: int, kind: int, length: int) -> Record:
    _, _, at_us, _, _ = _HEAD.unpack_from(content, at)
    body = content[at + _HEAD.size : at + _HEAD.size + length]
    moment = datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="microseconds")
    record: Record = {"time": moment.replace("+00:00", "Z"), "sequence": sequence}
    if kind == _EVENT:
        return {**record, **json.loads(body)}
    first, term, count, size = _ENTRIES.unpack_from(body)
    shard, _, text = body[_ENTRIES.size :].decode(errors="replace").partition(" ")
    record |= {"kind": _KIND_NAMES.get(kind, str(kind)), "shard": shard, "index": first}
    record |= {"term": term, "count": count, "bytes": size}
    return {**record, "commands": text} if text else record


def _short(value: object) -> object:
    return value[:_TEXT] if isinstance(value, str) else value
