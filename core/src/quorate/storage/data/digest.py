"""A number that two replicas share when they hold the same rows."""

from collections.abc import Iterator
from hashlib import sha256
from struct import Struct
from typing import Final

from quorate.consensus.journal import Position
from quorate.storage.engine.port import Engine

_ROW: Final = Struct(">II")
#: No key is that long: it stands in front of a family's name.
_FAMILY: Final = 0xFFFFFFFF


class Digest:
    """Reads every row of one view in slices, so that the loop goes on between them.

    A family without rows counts for nothing: whether it was ever opened differs between replicas.
    """

    def __init__(self, engine: Engine, position: Position) -> None:
        #: The state that the digest is of.
        self.position: Final = position
        self._sum: Final = sha256()
        # All made in one turn: together they are one view.
        self._views: Final = [
            (family, engine.iterate(family, b"", None)) for family in engine.families
        ][::-1]
        self._rows: Iterator[tuple[bytes, bytes]] = iter(())
        self._done = False

    def step(self, max_rows: int = 2_000) -> bool:
        """Read some rows; True when those were the last. Raises `DamagedError`."""
        parts: list[bytes] = []
        room, pack = max_rows, _ROW.pack
        while room > 0 and not self._done:
            for key, value in self._rows:
                parts += (pack(len(key), len(value)), key, value)
                room -= 1
                if room == 0:
                    break
            else:
                self._next_family(parts)
        self._sum.update(b"".join(parts))
        return self._done

    def hexdigest(self) -> str:
        """Return the digest; raises `ValueError` before the last step."""
        if not self._done:
            raise ValueError("the digest is not complete: step until that returns True")
        return self._sum.hexdigest()

    def _next_family(self, parts: list[bytes]) -> None:
        while self._views:
            family, rows = self._views.pop()
            first = next(rows, None)
            if first is not None:
                name = family.encode()
                parts += (_ROW.pack(_FAMILY, len(name)), name)
                self._rows = _with(first, rows)
                return
        self._done = True


def _with(
    first: tuple[bytes, bytes], rows: Iterator[tuple[bytes, bytes]]
) -> Iterator[tuple[bytes, bytes]]:
    yield first
    yield from rows
