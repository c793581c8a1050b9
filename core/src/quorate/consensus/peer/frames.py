"""The encoding of messages between replicas: a frame holds many, of any shards.

A frame is its length, then one message after the other: the name of the shard, after its length;
the kind of the message; its fields, of fixed sizes; the entries of an append. Entries follow each
other, so they carry no index. The handshake of the connection names sender and receiver.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from quorate.consensus.messages import (
    CONFIG,
    Alive,
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
    Wakeup,
    new,
    weight,
)
from quorate.consensus.peer.wire import (
    LARGEST_NUMBER,
    LENGTH,
    MalformedMessageError,
    check_configuration,
)

#: Bytes that a message takes in a queue in addition to its entries.
MESSAGE_OVERHEAD: Final = 96

#: Maximum number of cached shard names; peers cannot make the cache grow beyond it.
_MOST_NAMES: Final = 4_096
_ENTRY: Final = struct.Struct(">QBI")
_KINDS: Final = {kind.value: kind for kind in EntryKind}

Refuse = Callable[[MalformedMessageError], None]


class _Layout(NamedTuple):
    """The fields of a body, packed after the kind, the term and the configuration's index."""

    kind: int
    fields: struct.Struct
    body: type[Any]


def _layout(kind: int, fields: str, body: type[Body]) -> _Layout:
    return _Layout(kind, struct.Struct(">BQQ" + fields), body)


#: Its last two fields are the commit index and the number of the entries.
_APPEND: Final = _layout(1, "QQQI", Append)
_LAYOUTS: Final[dict[type[Body], _Layout]] = {
    Append: _APPEND,
    AppendReply: _layout(2, "?QQQQ", AppendReply),
    Heartbeat: _layout(3, "QQQ", Heartbeat),
    HeartbeatReply: _layout(4, "QQ", HeartbeatReply),
    RequestVote: _layout(5, "QQ??", RequestVote),
    VoteReply: _layout(6, "??Q", VoteReply),
    TimeoutNow: _layout(7, "", TimeoutNow),
    ReadRequest: _layout(8, "Q", ReadRequest),
    ReadReply: _layout(9, "QQ", ReadReply),
    Hibernate: _layout(10, "QQ", Hibernate),
    Hibernating: _layout(11, "QQ", Hibernating),
    Wakeup: _layout(12, "", Wakeup),
    Alive: _layout(13, "Q", Alive),
}
_BY_KIND: Final = {layout.kind: layout for layout in _LAYOUTS.values()}

_packed_names: Final[dict[str, bytes]] = {}
_read_names: Final[dict[bytes, str]] = {}


def size_of(message: Message) -> int:
    """Return the approximate size of a message in a frame."""
    body = message.body
    entries = sum(map(weight, body.entries)) if isinstance(body, Append) else 0
    return MESSAGE_OVERHEAD + entries


def encode_frame(messages: Iterable[tuple[str, Message]]) -> bytes:
    """Return a frame of messages, each with its shard."""
    pieces = [b""]
    add = pieces.append
    for shard, message in messages:
        body = message.body
        kind, fields, _ = _LAYOUTS[type(body)]
        add(_packed_names.get(shard) or _pack_name(shard))
        if isinstance(body, Append):
            prev_index, prev_term, entries, commit = body
            add(
                fields.pack(
                    kind,
                    message.term,
                    message.config_index,
                    prev_index,
                    prev_term,
                    commit,
                    len(entries),
                )
            )
            for entry in entries:
                add(_ENTRY.pack(entry.term, entry.kind, len(entry.payload)))
                add(entry.payload)
        else:
            add(fields.pack(kind, message.term, message.config_index, *body))
    pieces[0] = LENGTH.pack(sum(map(len, pieces)))
    return b"".join(pieces)


def decode_frame(
    content: memoryview, source: Peer, target: Peer, entry_bytes: int, refuse: Refuse
) -> list[tuple[str, Message]]:
    """Return the messages of the content of a frame, each with its shard.

    An invalid message is refused alone; raises `MalformedMessageError` if the start of the next
    message is unknown.
    """
    taken: list[tuple[str, Message]] = []
    position, end = 0, len(content)
    try:
        while position < end:
            begin = position + 1
            position = begin + content[position]
            name = bytes(content[begin:position])
            shard = _read_names.get(name) or _read_name(name)
            layout = _BY_KIND[content[position]]
            numbers = layout.fields.unpack_from(content, position)
            position += layout.fields.size
            body: Body
            if layout is _APPEND:
                prev_index, prev_term, commit, count = numbers[3:]
                entries, position = _entries(content, position, prev_index, count)
                body = new(Append, (prev_index, prev_term, entries, commit))
            else:
                body = new(layout.body, numbers[3:])
            try:
                if max(numbers) >= LARGEST_NUMBER:
                    raise MalformedMessageError("a number that is out of range", repr(body))
                if isinstance(body, Append):
                    _check_append(body, numbers[1], entry_bytes)
            except MalformedMessageError as error:
                refuse(error)
            else:
                fields = source, target, numbers[1], numbers[2], body
                taken.append((shard, new(Message, fields)))
    except (struct.error, LookupError, ValueError) as error:
        raise MalformedMessageError(
            "a frame that cannot be read", f"at byte {position} of {end}: {error}"
        ) from None
    return taken


def _pack_name(shard: str) -> bytes:
    name = shard.encode()
    packed = bytes([len(name)]) + name
    if len(_packed_names) < _MOST_NAMES:
        _packed_names[shard] = packed
    return packed


def _read_name(name: bytes) -> str:
    if not name:
        raise ValueError("a shard without a name")
    shard = name.decode()
    if len(_read_names) < _MOST_NAMES:
        _read_names[name] = shard
    return shard


def _entries(
    content: memoryview, position: int, index: int, count: int
) -> tuple[tuple[Entry, ...], int]:
    """Return the entries after an index, and the position after them."""
    entries: list[Entry] = []
    for _ in range(count):
        index += 1
        term, kind, size = _ENTRY.unpack_from(content, position)
        position += _ENTRY.size
        payload = bytes(content[position : position + size])
        if len(payload) < size:
            raise ValueError("an entry goes beyond its frame")
        position += size
        entries.append(new(Entry, (index, term, _KINDS[kind], payload)))
    return tuple(entries), position


def _check_append(append: Append, term: int, entry_bytes: int) -> None:
    newest = append.prev_term
    if append.prev_index == 0 and newest != 0:
        raise MalformedMessageError("a term where no entry is", str(newest))
    for entry in append.entries:
        if entry.term < newest:
            raise MalformedMessageError("entries whose terms go back", f"{entry.term} < {newest}")
        newest = entry.term
        if len(entry.payload) > entry_bytes:
            raise MalformedMessageError(
                "an entry over the limit",
                f"{len(entry.payload)} bytes; at most {entry_bytes} allowed",
            )
        if entry.kind is CONFIG:
            check_configuration(entry.payload, entry.index)
    if newest > term:
        raise MalformedMessageError("entries ahead of their sender's term", f"{newest} in {term}")
