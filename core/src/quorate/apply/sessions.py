"""Exactly-once sessions, and the recorded outcomes of their operations.

A session has a number of the revision of the command that opened it, and of its shard. Revisions
leap at a restore, so that no number comes twice; and two shards of a group, which count their
entries alike, do not give the same one, so that they can be merged.
"""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import Final, NamedTuple

from quorate.apply.entries import LAST_POSITION, LoggedCommand, Stamp, index_of, revision_of
from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import (
    NOT_OWNER,
    OTHER_COMMAND,
    OUT_OF_RANGE,
    SESSION_EXPIRED,
    SESSION_SEALED,
    Outcome,
    Refusal,
)
from quorate.plugin import Rejected
from quorate.storage.families import ANSWERS, SESSIONS

#: Maximum distance of a sequence from the lowest unanswered one of its session.
WINDOW: Final = 1_024
#: A larger answer is recorded as applied, without its content, except in a named session, whose
#: caller may have lost all answers.
MAX_ANSWER_BYTES: Final = 4 << 10
#: Maximum number of sessions that expire with one entry; the others are refused until then.
EXPIRED_AT_ONCE: Final = 256
#: Maximum number of answers to delete one by one; more are deleted as a range.
_FEW: Final = 64

#: One entry gives at most as many numbers that are certain to be of its shard alone.
_OF_ENTRY: Final = 16

_SESSION: Final = b"s"
_NAME: Final = b"n"
_CHECK: Final = b"x"
_CHECK_END: Final = b"y"

_ID: Final = Struct(">Q")
_ROW: Final = Struct(">qqQB")
#: What the last part of a row says of a session; who owns one follows, before its name.
_PINNED, _OWNED = 1, 2
_OWNER: Final = Struct(">H")
_CHECK_KEY: Final = Struct(">QQ")
_OFFSET: Final = 1 << 63
_LAST_MS: Final = _OFFSET - 1
_ANSWER_KEY: Final = Struct(">QQ")
_ANSWER: Final = Struct(">QB")
_CODE: Final = Struct(">H")
_REPLIED, _REFUSED, _FORGOTTEN = range(1, 4)
#: Identifies a command of a named session; it precedes the answer.
_DIGEST_BYTES: Final = 16
#: The `lowest` of a sealed session.
_SEALED: Final = (1 << 64) - 1

#: Ends the owner in front of a name that is not shared; no name of a client has it.
_OF_OWNER: Final = b"\0"

#: When no session can expire.
NEVER: Final = _LAST_MS


class Session(NamedTuple):
    """A session."""

    ttl_ms: int
    #: The logical time of its last operation.
    used_ms: int
    #: The caller has the answers of all sequences below.
    lowest: int
    #: It has a name, and stays until it is closed, with all its answers.
    pinned: bool
    name: bytes
    #: Who opened it, and may use it; "": anybody.
    owner: str = ""

    @property
    def sealed(self) -> bool:
        """Whether it refuses all operations."""
        return self.lowest == _SEALED

    @property
    def expires_ms(self) -> int:
        """The last moment at which it can be used."""
        return NEVER if self.pinned else min(self.used_ms + self.ttl_ms, NEVER)


def number_at(revision: int, shard: int) -> int:
    """Return the number of a session that a command of this revision opens in a shard.

    It is one of those of its entry.
    """
    position = (revision + _OF_ENTRY * shard) & LAST_POSITION
    return revision_of(index_of(revision), position)


def find(rows: Rows, session: int) -> Session | None:
    """Return an open session, or None."""
    value = rows.get(SESSIONS, _SESSION + _ID.pack(session))
    if value is None:
        return None
    ttl_ms, used_ms, lowest, flags = _ROW.unpack_from(value)
    rest, owner = value[_ROW.size :], ""
    if flags & _OWNED:
        end = _OWNER.size + _OWNER.unpack_from(rest)[0]
        rest, owner = rest[end:], rest[_OWNER.size : end].decode()
    return Session(ttl_ms, used_ms, lowest, bool(flags & _PINNED), rest, owner)


def refusal_of(number: int, session: Session, caller: str) -> Refusal | None:
    """Return why a caller may not use a session; "" may use any."""
    if not caller or session.owner in ("", caller):
        return None
    return Refusal(NOT_OWNER, f"session {number} is another caller's: open your own")


def named(rows: Rows, name: bytes, owner: str, *, any_owner: bool) -> int | None:
    """Return the session of a name: its owner's, else one that is shared, else of anybody."""
    for each in (_own_name(name, owner), name):
        if (known := rows.get(SESSIONS, _NAME + each)) is not None:
            return int(_ID.unpack(known)[0])
    if any_owner:
        for key, known in rows.iterate(SESSIONS, _NAME, _SESSION):
            if key.endswith(_OF_OWNER + name):
                return int(_ID.unpack(known)[0])
    return None


def open_session(
    layer: Layer,
    number: int,
    name: bytes,
    ttl_ms: int,
    now_ms: int,
    owner: str = "",
    *,
    most: int = 0,
    any_owner: bool = False,
) -> int:
    """Open a session of this number, or return the open one of that name.

    With `most` names are their owner's own, who has at most as many. Raises `Rejected` beyond
    that, and if the session is somebody else's.
    """
    if name:
        found = named(layer, name, owner if most else "", any_owner=any_owner)
        if found is not None:
            if not any_owner:
                _demand(layer, found, owner)
            return found
        if most:
            name = _own_name(name, owner)
            _demand_room(layer, owner, most)
        layer.put(SESSIONS, _NAME + name, _ID.pack(number))
    session = Session(ttl_ms, now_ms, 0, bool(name), name, owner)
    _store(layer, number, session)
    if not session.pinned:
        layer.put(SESSIONS, _check_key(session.expires_ms, number), b"")
    return number


def seal_session(
    layer: Layer, number: int, name: bytes, now_ms: int, caller: str = "", *, most: int = 0
) -> tuple[int, list[int]]:
    """Seal the session of a name, which is opened if it does not exist.

    Return its number, and the revisions of its commands. Raises `Rejected` if it is not its
    caller's.
    """
    any_owner = bool(most) and not caller
    session = open_session(layer, number, name, 0, now_ms, caller, most=most, any_owner=any_owner)
    found = find(layer, session)
    assert found is not None
    _store(layer, session, Session(0, now_ms, _SEALED, True, found.name, found.owner))
    begin = _ID.pack(session)
    revisions = []
    for _, value in layer.iterate(ANSWERS, begin, begin + b"\xff" * 9):
        revision, kind = _ANSWER.unpack_from(value, _DIGEST_BYTES)
        if kind != _REFUSED:
            revisions.append(revision)
    return session, revisions


def close_session(layer: Layer, session: int, caller: str = "") -> bool:
    """Delete a session and its answers; False if there is none.

    Raises `Rejected` if it is not its caller's.
    """
    _demand(layer, session, caller)
    found = find(layer, session)
    if found is None:
        return False
    layer.delete(SESSIONS, _SESSION + _ID.pack(session))
    if found.name:
        layer.delete(SESSIONS, _NAME + found.name)
    layer.delete_range(ANSWERS, _ID.pack(session), _ID.pack(session) + b"\xff" * 9)
    return True


def expire(layer: Layer, now_ms: int, first_ms: int) -> int:
    """Delete expired sessions, and return when to check again.

    There is nothing to check before `first_ms`. A session that can expire is recorded under its
    expiry as of the last check, which operations have moved since.
    """
    for at_ms, session in list(_checks(layer, first_ms, now_ms)):
        layer.delete(SESSIONS, _check_key(at_ms, session))
        found = find(layer, session)
        if found is None:
            continue
        if found.expires_ms < now_ms:
            close_session(layer, session)
        else:
            layer.put(SESSIONS, _check_key(found.expires_ms, session), b"")
    return first_check(layer, first_ms)


def first_check(rows: Rows, first_ms: int = -_OFFSET) -> int:
    """Return when to check for expired sessions next."""
    begin = _CHECK + _CHECK_KEY.pack(first_ms + _OFFSET, 0)
    for key, _ in rows.iterate(SESSIONS, begin, _CHECK_END):
        return int(_CHECK_KEY.unpack_from(key, 1)[0]) - _OFFSET
    return NEVER


def answer_known(
    layer: Layer, command: LoggedCommand, stamp: Stamp, revision: int, now_ms: int
) -> Outcome | None:
    """Return the outcome of an operation that must not be applied, or None if it may be.

    An operation of an open session renews it, and deletes the answers that its caller has; a named
    one deletes none, and recognizes its commands. After a refusal by this function nothing was
    written.
    """
    session = find(layer, stamp.session)
    if session is None or session.expires_ms < now_ms:
        return Outcome.refused(
            revision,
            SESSION_EXPIRED,
            f"session {stamp.session} is unknown here or has expired: read which"
            " of its last commands were applied, then open another",
        )
    refusal = refusal_of(stamp.session, session, command.caller)
    if refusal is not None:
        return Outcome(revision, refusal=refusal)
    if session.sealed:
        why = f"session {stamp.session} is sealed and accepts no more operations"
        return Outcome.refused(revision, SESSION_SEALED, why)
    if session.pinned:
        known = _known_of_pinned(layer, command, stamp, revision)
        if known is not None:
            return known
    sequence, lowest = stamp.sequence, max(stamp.lowest_unanswered, session.lowest)
    if session.pinned and stamp.lowest_unanswered <= sequence < session.lowest:
        _touch(layer, stamp.session, session, lowest, now_ms)
        return Outcome(revision, forgotten=True)
    if not lowest <= sequence <= lowest + WINDOW:
        return Outcome.refused(
            revision,
            OUT_OF_RANGE,
            f"sequence {sequence} of session {stamp.session} is not within {WINDOW} above"
            f" {lowest}, its lowest unanswered one",
        )
    _touch(layer, stamp.session, session, lowest, now_ms)
    if session.pinned:
        return None
    value = layer.get(ANSWERS, _ANSWER_KEY.pack(stamp.session, sequence))
    return None if value is None else _decoded(value)


def record(layer: Layer, command: LoggedCommand, stamp: Stamp, outcome: Outcome) -> None:
    """Record the outcome of an operation."""
    session = find(layer, stamp.session)
    if session is not None and session.pinned:
        answer = _digest(command) + _encoded(outcome)
    elif len(outcome.reply) > MAX_ANSWER_BYTES:
        answer = _encoded(Outcome(outcome.revision, forgotten=True))
    else:
        answer = _encoded(outcome)
    layer.put(ANSWERS, _ANSWER_KEY.pack(stamp.session, stamp.sequence), answer)


def unite(layer: Layer, other: Rows, common: int) -> None:
    """Bring the sessions of two shards together; those up to `common` were opened before a split.

    What both have of one is put together. A session ends as if it had expired when an operation
    that its caller repeats might be carried out twice, or answered with what is another's: when
    only one shard still has one from before their split, and when both opened one of the same
    number or name later. `layer` is over the rows of the first.
    """
    for key, value in other.iterate(SESSIONS, _NAME, _SESSION):
        own = layer.get(SESSIONS, key)
        if own is not None and own != value:
            _end(layer, other, int(_ID.unpack(value)[0]))
            layer.put(SESSIONS, key, own)
    # Of those that one of both opened later, only such matter that both have.
    ends = ((layer, _SESSION + _ID.pack(common) + b"\x00"), (other, _CHECK))
    numbers = dict.fromkeys(
        int(_ID.unpack_from(key, len(_SESSION))[0])
        for rows, end in ends
        for key, _ in rows.iterate(SESSIONS, _SESSION, end)
    )
    for number in numbers:
        session, theirs = find(layer, number), find(other, number)
        if number > common and (session is None or theirs is None):
            continue
        if session is None or theirs is None or number > common:
            _end(layer, other, number)
            continue
        united = session._replace(
            used_ms=max(session.used_ms, theirs.used_ms),
            lowest=max(session.lowest, theirs.lowest),
        )
        if united != session:
            _store(layer, number, united)


def in_both(rows: Rows, other: Rows, common: int) -> str | None:
    """Return a session or a name that two shards have opened each for itself, if there is one."""
    for key, value in other.iterate(SESSIONS, _NAME, _CHECK):
        own = rows.get(SESSIONS, key)
        if own is None or (key.startswith(_NAME) and own == value):
            continue
        if key.startswith(_NAME):
            return f"the session {key[len(_NAME) :].decode(errors='replace')}"
        if (number := int(_ID.unpack_from(key, len(_SESSION))[0])) > common:
            return f"session {number}"
    return None


def _end(layer: Layer, other: Rows, number: int) -> None:
    """Delete a session of two shards and its answers, key by key."""
    begin = _ID.pack(number)
    for rows in (layer, other):
        session = find(rows, number)
        if (
            session is not None
            and session.name
            and rows.get(SESSIONS, _NAME + session.name) == begin
        ):
            layer.delete(SESSIONS, _NAME + session.name)
        for key in [key for key, _ in rows.iterate(ANSWERS, begin, begin + b"\xff" * 9)]:
            layer.delete(ANSWERS, key)
    layer.delete(SESSIONS, _SESSION + begin)


def _known_of_pinned(
    layer: Layer, command: LoggedCommand, stamp: Stamp, revision: int
) -> Outcome | None:
    value = layer.get(ANSWERS, _ANSWER_KEY.pack(stamp.session, stamp.sequence))
    if value is None:
        return None
    if value[:_DIGEST_BYTES] == _digest(command):
        return _decoded(value[_DIGEST_BYTES:])
    return Outcome.refused(
        revision,
        OTHER_COMMAND,
        f"sequence {stamp.sequence} of session {stamp.session} was another command when it came"
        " first: repeat that one, or use another session",
    )


def _digest(command: LoggedCommand) -> bytes:
    digest = blake2b(command.type.encode(), digest_size=_DIGEST_BYTES)
    digest.update(b"\0")
    digest.update(command.payload)
    return digest.digest()


def _touch(layer: Layer, number: int, session: Session, lowest: int, now_ms: int) -> None:
    renewed = session._replace(used_ms=now_ms, lowest=lowest)
    if renewed == session:
        return
    _store(layer, number, renewed)
    if session.pinned:
        return
    if lowest - session.lowest > _FEW:
        layer.delete_range(
            ANSWERS, _ANSWER_KEY.pack(number, session.lowest), _ANSWER_KEY.pack(number, lowest)
        )
    else:
        for sequence in range(session.lowest, lowest):
            layer.delete(ANSWERS, _ANSWER_KEY.pack(number, sequence))


def _store(layer: Layer, number: int, session: Session) -> None:
    ttl_ms, used_ms, lowest, pinned, name, owner = session
    flags = (_PINNED if pinned else 0) | (_OWNED if owner else 0)
    whose = owner.encode()
    rest = _OWNER.pack(len(whose)) + whose + name if owner else name
    layer.put(
        SESSIONS, _SESSION + _ID.pack(number), _ROW.pack(ttl_ms, used_ms, lowest, flags) + rest
    )


def _own_name(name: bytes, owner: str) -> bytes:
    """Return a name as it is stored: in the space of its owner, if any."""
    return owner.encode() + _OF_OWNER + name if owner else name


def _demand_room(rows: Rows, owner: str, most: int) -> None:
    """Refuse one more named session of an owner; those without an owner count with all others."""
    begin = _NAME + (owner.encode() + _OF_OWNER if owner else b"")
    keys = rows.iterate(SESSIONS, begin, begin + b"\xff" if owner else _SESSION)
    if sum(1 for _ in islice(keys, most)) >= most:
        raise Rejected(
            "RESOURCE_EXHAUSTED",
            f"{most} sessions with a name are open in this shard for"
            f" {owner or 'callers without a name'}, which are the most"
            " (limits.named_sessions): close some, as `quorate spark load forget` does",
        )


def _demand(layer: Layer, number: int, caller: str) -> None:
    session = find(layer, number)
    if session is not None and (refusal := refusal_of(number, session, caller)) is not None:
        raise Rejected(*refusal)


def _check_key(at_ms: int, session: int) -> bytes:
    return _CHECK + _CHECK_KEY.pack(at_ms + _OFFSET, session)


def _checks(rows: Rows, first_ms: int, now_ms: int) -> Iterator[tuple[int, int]]:
    begin = _CHECK + _CHECK_KEY.pack(first_ms + _OFFSET, 0)
    end = _CHECK + _CHECK_KEY.pack(now_ms + _OFFSET, 0)
    found = rows.iterate(SESSIONS, begin, end)
    for (key, _), _room in zip(found, range(EXPIRED_AT_ONCE), strict=False):
        time, session = _CHECK_KEY.unpack_from(key, 1)
        yield time - _OFFSET, session


def _encoded(outcome: Outcome) -> bytes:
    if outcome.refusal is not None:
        code = outcome.refusal.code.encode()[:MAX_ANSWER_BYTES]
        message = outcome.refusal.message.encode()[:MAX_ANSWER_BYTES]
        return _ANSWER.pack(outcome.revision, _REFUSED) + _CODE.pack(len(code)) + code + message
    if outcome.forgotten:
        return _ANSWER.pack(outcome.revision, _FORGOTTEN)
    return _ANSWER.pack(outcome.revision, _REPLIED) + outcome.reply


def _decoded(value: bytes) -> Outcome:
    revision, kind = _ANSWER.unpack_from(value)
    body = value[_ANSWER.size :]
    if kind == _REPLIED:
        return Outcome(revision, body)
    if kind == _FORGOTTEN:
        return Outcome(revision, forgotten=True)
    end = _CODE.size + _CODE.unpack_from(body)[0]
    code, message = body[_CODE.size : end], body[end:]
    # Truncated text may end within a character.
    return Outcome.refused(revision, code.decode(errors="ignore"), message.decode(errors="ignore"))
