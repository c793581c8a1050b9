"""The fences of a shard: the newest token of each name. A command with an older one is refused."""

from itertools import islice
from struct import Struct
from typing import Final

from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import FENCED, OUT_OF_RANGE, Refusal
from quorate.plugin import Fence
from quorate.plugin.keys import shown
from quorate.storage.families import FENCES

#: A token is remembered for this long after it was raised, unless it is held; in logical time.
REMEMBERED_MS: Final = 7 * 24 * 3_600_000
#: Maximum distance of a token from the newest one of a name that no plugin gives tokens out for:
#: more than a clock in nanoseconds advances while a token is remembered.
LONGEST_LEAP: Final = 1 << 50
#: The largest first token of such a name.
LARGEST_FIRST: Final = 1 << 62

#: Rows by name hold the token and when it was raised; those by time find the oldest.
_BY_NAME: Final = b"n"
_BY_TIME: Final = b"t"
_ROW: Final = Struct(">Qq")
_TIME: Final = Struct(">Q")
#: Number of old names that are forgotten when one is raised.
_FORGOTTEN_AT_ONCE: Final = 2
#: In place of the time at which it was raised, of a token that is held: it has no row by time.
_HELD_MS: Final = -1


def refusal_of(rows: Rows, fence: Fence, *, given_out: bool) -> Refusal | None:
    """Return why a command with this fence is refused; None if it is not.

    Tokens that a plugin gives out may leap: each is known to be one of them.
    """
    newest = token_of(rows, fence.name)
    if fence.token >= newest:
        most = newest + LONGEST_LEAP if newest else LARGEST_FIRST
        if given_out or fence.token <= most:
            return None
        return Refusal(
            OUT_OF_RANGE,
            f"fencing token {fence.token} of {shown(fence.name)} leaps too far (maximum {most}):"
            " `quorate lock reset --fence` forgets the tokens of a name",
        )
    return Refusal(
        FENCED,
        f"fencing token {fence.token} of {shown(fence.name)} is stale (minimum {newest}): the lock"
        " has passed to another holder, or its holder's lease has ended",
    )


def token_of(rows: Rows, name: bytes) -> int:
    """Return the newest known token of a name; 0: none."""
    row = rows.get(FENCES, _BY_NAME + name)
    return 0 if row is None else int(_ROW.unpack(row)[0])


def raise_to(layer: Layer, name: bytes, token: int, now_ms: int, *, held: bool = False) -> None:
    """Remember a token, unless a newer one is known; forget tokens that are old enough.

    One that is held is remembered until it is raised, or released by the same token.
    """
    row = layer.get(FENCES, _BY_NAME + name)
    if row is not None:
        known, raised_ms = _ROW.unpack(row)
        let_go = known == token and raised_ms == _HELD_MS and not held
        if known >= token and not let_go:
            return
        if raised_ms != _HELD_MS:
            layer.delete(FENCES, _time_key(raised_ms, name))
    layer.put(FENCES, _BY_NAME + name, _ROW.pack(token, _HELD_MS if held else now_ms))
    if held:
        return
    layer.put(FENCES, _time_key(now_ms, name), b"")
    end = _BY_TIME + _TIME.pack(max(0, now_ms - REMEMBERED_MS))
    old = [key for key, _ in islice(layer.iterate(FENCES, _BY_TIME, end), _FORGOTTEN_AT_ONCE)]
    for key in old:
        layer.delete(FENCES, key)
        layer.delete(FENCES, _BY_NAME + key[len(_BY_TIME) + _TIME.size :])


def forget_above(layer: Layer, prefix: bytes, above: int) -> int:
    """Forget the larger tokens of the names that begin like this; return how many there were."""
    begin = _BY_NAME + prefix
    larger = []
    for key, row in layer.iterate(FENCES, begin, _BY_TIME):
        if not key.startswith(begin):
            break
        token, raised_ms = _ROW.unpack(row)
        if token > above:
            larger.append((key, raised_ms))
    for key, raised_ms in larger:
        layer.delete(FENCES, key)
        layer.delete(FENCES, _time_key(raised_ms, key[len(_BY_NAME) :]))
    return len(larger)


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
