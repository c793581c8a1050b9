"""The slots of a group: where a shard key hashes to, and how a shard's slots are written down.

A bitmap is 128 bytes; slot `s` is the bit `1 << (s & 7)` of byte `s >> 3`.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, overload

SLOTS: Final = 1_024
BITMAP_BYTES: Final = SLOTS // 8


def slot_of(shard_key: bytes) -> int:
    """Return the slot of a shard key; it is the same in every group, for ever."""
    return zlib.crc32(shard_key) % SLOTS


def slots_of(shard_keys: Iterable[bytes]) -> list[int]:
    """Return the slot of each of many shard keys, in their order."""
    crc32 = zlib.crc32
    return [crc32(shard_key) % SLOTS for shard_key in shard_keys]


class KeySlots(Sequence[int]):
    """The different slots of shard keys in order, which are not computed before they are used.

    Where one shard owns all slots of a group, those of a batch are not looked at.
    """

    def __init__(self, shard_keys: Iterable[bytes]) -> None:
        self._shard_keys: Final = shard_keys

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        """Return a slot by its place."""
        return self._slots[at]

    def __iter__(self) -> Iterator[int]:
        """Return the slots in order, without a lookup of each by its place."""
        return iter(self._slots)

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._slots)

    @cached_property
    def _slots(self) -> tuple[int, ...]:
        return tuple(sorted(set(slots_of(self._shard_keys))))


def even_cut(shards: int) -> tuple[bytes, ...]:
    """Return the bitmap of each shard of a new group."""
    if not 1 <= shards <= SLOTS:
        raise ValueError(f"a group has 1 to {SLOTS} shards, not {shards}")
    owned: list[list[int]] = [[] for _ in range(shards)]
    for slot in range(SLOTS):
        owned[slot * shards // SLOTS].append(slot)
    return tuple(map(bitmap_of, owned))


def bitmap_of(slots: Iterable[int]) -> bytes:
    """Return the bitmap that holds these slots and no others."""
    bitmap = bytearray(BITMAP_BYTES)
    for slot in slots:
        if not 0 <= slot < SLOTS:
            raise ValueError(f"a group has slots 0 to {SLOTS - 1}, and no slot {slot}")
        bitmap[slot >> 3] |= 1 << (slot & 7)
    return bytes(bitmap)


def slots_in(bitmap: bytes) -> list[int]:
    """Return the slots that a bitmap holds, in their order."""
    if len(bitmap) != BITMAP_BYTES:
        raise ValueError(f"a bitmap of slots has {BITMAP_BYTES} bytes, not {len(bitmap)}")
    left, slots = int.from_bytes(bitmap, "little"), []
    while left:
        lowest = left & -left
        slots.append(lowest.bit_length() - 1)
        left ^= lowest
    return slots
