"""The fences of a shard: the newest token of each name. A command with an older one is refused."""

from itertools import islice
from struct import Struct
from typing import Final

from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import FENCED, Refusal
from quorate.plugin import Fence
from quorate.plugin.keys import shown
from quorate.storage.families import FENCES

#: A token is remembered for this long after it was raised; in logical time.
REMEMBERED_MS: Final = 7 * 24 * 3_600_000

#: Rows by name hold the token and when it was raised; those by time find the oldest.
_BY_NAME: Final = b"n"
_BY_TIME: Final = b"t"
_ROW: Final = Struct(">Qq")
_TIME: Final = Struct(">Q")
#: Number of old names that are forgotten when one is raised.
_FORGOTTEN_AT_ONCE: Final = 2


def refusal_of(rows: Rows, fence: Fence) -> Refusal | None:
    """Return why a command with this fence is refused; None if it is not."""
    newest = token_of(rows, fence.name)
    if fence.token >= newest:
        return None
    return Refusal(
        FENCED,
        f"token {fence.token} of {shown(fence.name)} is old, {newest} is the least that is let"
        " through: the lock has gone on to another holder, or its holder's lease has ended",
    )


def token_of(rows: Rows, name: bytes) -> int:
    """Return the newest known token of a name; 0: none."""
    row = rows.get(FENCES, _BY_NAME + name)
    return 0 if row is None else int(_ROW.unpack(row)[0])


def raise_to(layer: Layer, name: bytes, token: int, now_ms: int) -> None:
    """Remember a token, unless a newer one is known; forget tokens that are old enough."""
    row = layer.get(FENCES, _BY_NAME + name)
    if row is not None:
        known, raised_ms = _ROW.unpack(row)
        if known >= token:
            return
        layer.delete(FENCES, _time_key(raised_ms, name))
    layer.put(FENCES, _BY_NAME + name, _ROW.pack(token, now_ms))
    layer.put(FENCES, _time_key(now_ms, name), b"")
    end = _BY_TIME + _TIME.pack(max(0, now_ms - REMEMBERED_MS))
    old = [key for key, _ in islice(layer.iterate(FENCES, _BY_TIME, end), _FORGOTTEN_AT_ONCE)]
    for key in old:
        layer.delete(FENCES, key)
        layer.delete(FENCES, _BY_NAME + key[len(_BY_TIME) + _TIME.size :])


def unite(layer: Layer, other: Rows) -> None:
    """Keep the newer token of each name that another shard has, too."""
    for key, value in other.iterate(FENCES, _BY_NAME, _BY_TIME):
        name, own = key[len(_BY_NAME) :], layer.get(FENCES, key)
        if own is None or own == value:
            continue
        (token, raised_ms), (theirs, their_ms) = _ROW.unpack(own), _ROW.unpack(value)
        if theirs > token:
            layer.put(FENCES, key, value)
            dropped = raised_ms, their_ms
        else:
            dropped = their_ms, raised_ms
        if dropped[0] != dropped[1]:
            layer.delete(FENCES, _time_key(dropped[0], name))


def _time_key(at_ms: int, name: bytes) -> bytes:
    return _BY_TIME + _TIME.pack(max(0, at_ms)) + name
