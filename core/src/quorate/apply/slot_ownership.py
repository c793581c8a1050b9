"""Which slot a stored row or a deadline belongs to, and the rows without those of foreign slots.

After a split both shards have the rows of all slots until each has deleted those that it does not
own; until then nobody reads them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from quorate.apply.layers import Rows
from quorate.plugin import Timer, Txn
from quorate.plugin.advanced import CONSTANT_KEY
from quorate.plugin.catalog import Catalog
from quorate.plugin.checks import placeless
from quorate.plugin.slots import slot_of

if TYPE_CHECKING:
    from quorate.apply.program import Handler

#: Whether a shard owns what has this key.
Owns = Callable[[bytes], bool]
#: Returns what becomes of a row that two shards have, when they are merged: from its key and both
#: values.
Joins = Callable[[bytes, bytes, bytes], bytes]


@dataclass(frozen=True, slots=True)
class SlotOwnership:
    """The slots of the rows and deadlines of a group.

    What is not named here is the shard's own, and stays in every part of it.
    """

    #: By family: the shard key of a key.
    families: Mapping[str, Callable[[bytes], bytes]]
    #: By timer: the slots of the command that is proposed for a due key.
    timers: Mapping[str, Callable[[bytes], list[int]]]
    #: By family: takes a row that is deleted here, because it is in another shard, out of what the
    #: shard keeps of all its rows.
    departures: Mapping[str, Callable[[Txn, bytes, bytes], None]]
    #: By family whose rows have no place: what becomes of a row that two shards have.
    joins: Mapping[str, Joins | None]

    @classmethod
    def of(cls, catalog: Catalog, group: str, handlers: Mapping[str, Handler]) -> Self:
        """Return the ownership of a group."""
        own = {
            family.name for declared in catalog.declared.values() for family in placeless(declared)
        }
        families = [
            each
            for each in catalog.families.values()
            if each.group == group and each.name not in own
        ]
        timers = [each for each in catalog.timers.values() if each.group == group]
        return cls(
            {each.name: each.shard_key or (lambda _: CONSTANT_KEY) for each in families},
            {each.name: _slots_of(each, handlers) for each in timers},
            {each.name: each.departs for each in families if each.departs is not None},
            {
                each.name: each.joins
                for each in catalog.families.values()
                if each.group == group and each.name in own
            },
        )

    def owner(self, family: str, owned: frozenset[int]) -> Owns | None:
        """Return a predicate of rows in owned slots; None if all rows of the family stay."""
        shard_key = self.families.get(family)
        if shard_key is None:
            return None

        def owns(key: bytes) -> bool:
            return slot_of(shard_key(key)) in owned

        return owns

    def timer_owner(self, timer: str, owned: frozenset[int]) -> Owns | None:
        """Return a predicate of deadlines in owned slots; None if all of the timer stay."""
        slots = self.timers.get(timer)
        if slots is None:
            return None

        def owns(key: bytes) -> bool:
            return owned.issuperset(slots(key))

        return owns


#: A group without any: nothing ever leaves its shards.
NOWHERE: Final = SlotOwnership({}, {}, {}, {})


class OwnRows:
    """Stored rows without those of slots that the shard does not own; `owned` returns its slots."""

    __slots__ = ("_owned", "_ownership", "_stored")

    def __init__(
        self, stored: Rows, ownership: SlotOwnership, owned: Callable[[], frozenset[int]]
    ) -> None:
        self._stored: Final = stored
        self._ownership: Final = ownership
        self._owned: Final = owned

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        owns = self._owner(family)
        return self._stored.get(family, key) if owns is None or owns(key) else None

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys in their order."""
        found = self._stored.get_many(family, keys)
        owns = self._owner(family)
        if owns is None:
            return found
        return [
            value if value is None or owns(key) else None
            for key, value in zip(keys, found, strict=True)
        ]

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows with `start <= key < end` in order."""
        found = self._stored.iterate(family, start, end, reverse=reverse)
        owns = self._owner(family)
        return found if owns is None else (row for row in found if owns(row[0]))

    def _owner(self, family: str) -> Owns | None:
        return self._ownership.owner(family, self._owned())


def _slots_of(timer: Timer, handlers: Mapping[str, Handler]) -> Callable[[bytes], list[int]]:
    def slots(key: bytes) -> list[int]:
        message: Any = timer.due([key])
        return handlers[message.DESCRIPTOR.full_name].slots(message)

    return slots
