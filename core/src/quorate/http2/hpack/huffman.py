"""The Huffman code of HPACK (RFC 7541, appendix B).

It is canonical: the lengths of the codes give the codes. A string is decoded by half bytes, each a
step between the inner nodes of the code's tree, of which a step ends one symbol at most.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from quorate.http2.hpack.fields import HpackError

#: The length of the code of each byte, and of the end of a string.
_LENGTHS: Final = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06080b0a0a080b"
    "080606060505050606060606060607080f060c0a0d0607070707070707070707070707070707070707070707"
    "0807080d130d0e060f05060506050606060507070606060506070605050607070707070f0b0e0d1c14161414"
    "1616161716171717171718171818161718171717171516171617171816151416161717151716161815161717"
    "151516151716171714161616171616171a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a"
    "1c1b1b1b14181415161515171616191918181a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a1e"
)


class _Step(NamedTuple):
    """A step by half a byte from one inner node of the tree to another."""

    node: int
    #: The byte that ends within it, as a string of its own.
    ended: bytes


def _codes(lengths: bytes) -> list[tuple[int, int]]:
    """Return the code and its length of each symbol."""
    codes = [(0, 0)] * len(lengths)
    code, before = 0, 0
    for symbol in sorted(range(len(lengths)), key=lambda each: (lengths[each], each)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[symbol] = code, before
        code += 1
    return codes


_CODES: Final = _codes(_LENGTHS)
#: The end of a string, which no string holds.
_END: Final = 256


def encode(text: bytes) -> bytes:
    """Return a string in the code, filled up with the first bits of the end's."""
    bits, length = 0, 0
    for byte in text:
        code, size = _CODES[byte]
        bits = bits << size | code
        length += size
    fill = -length % 8
    return (bits << fill | (1 << fill) - 1).to_bytes((length + fill) // 8, "big")


@cache
def _steps() -> tuple[list[list[_Step | None]], list[bool]]:
    """Return the steps from each inner node, and whether a string may end there.

    Made when a peer first sends a code: not every process meets one.
    """
    # Inner nodes by the bits that lead to them, with a leading 1.
    inner = {1: 0}
    leaves = {}
    for symbol, (code, size) in enumerate(_CODES):
        marked = 1 << size | code
        leaves[marked] = symbol
        for cut in range(1, size):
            inner.setdefault(marked >> cut, len(inner))
    steps: list[list[_Step | None]] = [[] for _ in inner]
    for marked, node in inner.items():
        steps[node] = [_step(inner, leaves, marked, half) for half in range(16)]
    # Padding is at most seven bits of the end's code, which are ones (section 5.2).
    may_end = [False] * len(inner)
    for size in range(8):
        may_end[inner[(1 << size + 1) - 1]] = True
    return steps, may_end


def _step(inner: dict[int, int], leaves: dict[int, int], at: int, half: int) -> _Step | None:
    ended = b""
    for shift in (3, 2, 1, 0):
        at = at << 1 | half >> shift & 1
        symbol = leaves.get(at)
        if symbol is not None:
            if symbol == _END:
                return None
            ended, at = bytes((symbol,)), 1
    return _Step(inner[at], ended)


def decode(code: bytes) -> bytes:
    """Return the string of a code; raises `HpackError`."""
    steps, may_end = _steps()
    node, found = 0, []
    for byte in code:
        for half in (byte >> 4, byte & 0x0F):
            step = steps[node][half]
            if step is None:
                raise HpackError("a Huffman code holds the end of a string")
            node = step.node
            if step.ended:
                found.append(step.ended)
    if not may_end[node]:
        raise HpackError("a Huffman code ends within a symbol")
    return b"".join(found)
