"""The rows that a leader stored last, kept in memory: a read of one need not ask the engine."""

from collections.abc import Iterator
from typing import Final

from quorate.apply.layers import Layer, Rows


class RecentRows:
    """Stored rows, of which those written last are in memory.

    What it keeps equals what is stored: it must see every layer that is stored after its creation,
    in order. It has two generations; the older one is dropped when the younger one is full, so a
    row stays for as long as it is written again in time.
    """

    __slots__ = ("_limit", "_old", "_size", "_stored", "_young")

    def __init__(self, stored: Rows, limit_bytes: int) -> None:
        self._stored: Final = stored
        #: Of the entries that fill a generation.
        self._limit: Final = limit_bytes
        self._young: dict[str, dict[bytes, bytes]] = {}
        self._old: dict[str, dict[bytes, bytes]] = {}
        self._size = 0

    def keep(self, layer: Layer, size: int) -> None:
        """Keep the rows of a layer that was stored, by an entry of this size."""
        for family, table in layer.tables.items():
            young = self._young.setdefault(family, {})
            if table.ranges:
                young.clear()
                self._old.pop(family, None)
            rows = table.rows
            if None in rows.values():
                old = self._old.get(family, {})
                for key, value in rows.items():
                    if value is None:
                        young.pop(key, None)
                        old.pop(key, None)
                    else:
                        young[key] = value
            else:
                young.update(rows)  # type: ignore[arg-type]
        self._size += size
        if self._size >= self._limit:
            self._old, self._young, self._size = self._young, {}, 0

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        young = self._young.get(family)
        if young is not None and (value := young.get(key)) is not None:
            return value
        old = self._old.get(family)
        if old is not None and (value := old.get(key)) is not None:
            return value
        return self._stored.get(family, key)

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys in their order."""
        found: list[bytes | None] | None = None
        for generation in (self._young, self._old):
            rows = generation.get(family)
            # Most of many rows are new: none of them is in memory.
            if rows and not rows.keys().isdisjoint(keys):
                found = list(map(rows.get, keys)) if found is None else _filled(found, rows, keys)
                if None not in found:
                    return found
        if found is None:
            return self._stored.get_many(family, keys)
        unknown = [at for at, value in enumerate(found) if value is None]
        values = self._stored.get_many(family, [keys[at] for at in unknown])
        for at, value in zip(unknown, values, strict=True):
            found[at] = value
        return found

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows with `start <= key < end` in order."""
        return self._stored.iterate(family, start, end, reverse=reverse)


def _filled(
    found: list[bytes | None], rows: dict[bytes, bytes], keys: list[bytes]
) -> list[bytes | None]:
    return [
        rows.get(key) if value is None else value for key, value in zip(keys, found, strict=True)
    ]
