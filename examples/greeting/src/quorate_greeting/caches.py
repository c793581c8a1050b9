"""The cache of tallies, which every node holds in memory."""

from dataclasses import dataclass, field
from typing import Final

from quorate.plugin import Cache

from quorate_greeting import families
from quorate_greeting.v1.rows_pb2 import Tally


@dataclass
class Tallies:
    """How many people each salutation greets; the host feeds it the rows of the tallies."""

    rows: dict[bytes, Tally] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget everything; the rows follow."""
        self.rows.clear()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Take a tally that is new or was changed."""
        self.rows[key] = Tally.FromString(row)

    def delete(self, family: str, key: bytes) -> None:
        """Forget a tally."""
        self.rows.pop(key, None)

    def in_order(self) -> list[Tally]:
        """Return the tallies by salutation."""
        return [self.rows[key] for key in sorted(self.rows)]


TALLIES: Final = Cache(
    name="greeting.tallies",
    group=families.GROUP,
    families=(families.TALLIES,),
    factory=Tallies,
)
