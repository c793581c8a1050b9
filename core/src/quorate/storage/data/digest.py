"""A digest of a shard's rows, to compare replicas."""

from collections.abc import Iterator
from hashlib import blake2b, sha256
from itertools import chain
from struct import Struct
from typing import Final

from quorate.consensus.journal import Position
from quorate.storage.engine.port import Engine

_ROW: Final = Struct(">II")
#: Precedes a family's name; no key is that long.
_FAMILY: Final = 0xFFFFFFFF


class Digest:
    """Reads every row of one view in slices, so that the loop goes on between them.

    A family without rows counts for nothing: whether it was ever opened differs between replicas.
    """

    def __init__(self, engine: Engine, position: Position) -> None:
        #: The state of the digest.
        self.position: Final = position
        self._sum: Final = sha256()
        # Created in one turn, so they form one view.
        self._views: Final = [
            (family, engine.iterate(family, b"", None)) for family in engine.families
        ][::-1]
        self._rows: Iterator[tuple[bytes, bytes]] = iter(())
        self._done = False

    def step(self, max_rows: int = 2_000) -> bool:
        """Read some rows; True after the last ones. Raises `DamagedError`."""
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
            raise ValueError("the digest is incomplete: call step until it returns True")
        return self._sum.hexdigest()

    def _next_family(self, parts: list[bytes]) -> None:
        while self._views:
            family, rows = self._views.pop()
            first = next(rows, None)
            if first is not None:
                name = family.encode()
                parts += (_ROW.pack(_FAMILY, len(name)), name)
                self._rows = chain((first,), rows)
                return
        self._done = True


def of_range(
    engine: Engine, family: str, key: bytes, most_bytes: int
) -> tuple[bytes, tuple[str, bytes] | None]:
    """Return a digest of the rows from one on, and the first row after them; None at the end.

    About `most_bytes` are read. Raises `DamagedError`.
    """
    found, room, pack = blake2b(digest_size=16), most_bytes, _ROW.pack
    for name in engine.families:
        if name < family:
            continue
        first = True
        for row, value in engine.iterate(name, key if name == family else b"", None):
            if room <= 0:
                return found.digest(), (name, row)
            if first:
                found.update(pack(_FAMILY, len(name)) + name.encode())
                first = False
            found.update(pack(len(row), len(value)) + row + value)
            room -= _ROW.size + len(row) + len(value)
    return found.digest(), None
