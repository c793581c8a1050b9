"""What the methods of a node make of bad input: the words in which the rows are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.message import Message


@dataclass(frozen=True, slots=True)
class InPlace:
    """One item of a batch is refused in its place, and named; the others would go through.

    A batch of one is a single call as a command, and refused as a whole.
    """

    #: As in `rules[0].name`.
    field: str

    @property
    def item(self) -> int:
        """Return the place of the item."""
        return int(self.field.partition("[")[2].partition("]")[0])


#: The field that is blamed, in one item or altogether; None: the request is a good one; else the
#: status of what is no fault of a field.
Blame = str | InPlace | grpc.StatusCode | None

KEY: Final = b"k" * 4_097
VALUE: Final = b"v" * ((128 << 10) + 1)
COMMAND: Final = b"c" * ((256 << 10) + 1)
TEXT: Final = "t" * 4_097
MANY: Final = 1_025
#: A text that no name may hold.
STRANGE: Final = "a\nb"
NOT_FOUND: Final = grpc.StatusCode.NOT_FOUND
REFUSED: Final = grpc.StatusCode.FAILED_PRECONDITION
UNIMPLEMENTED: Final = grpc.StatusCode.UNIMPLEMENTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a method makes of bad input."""

    empty: Blame
    #: Requests with too much of something.
    large: tuple[tuple[Message, Blame], ...] = ()
    #: Requests with what cannot be meant.
    wrong: tuple[tuple[Message, Blame], ...] = ()


def by_method(services: Mapping[str, Mapping[str, Row]]) -> dict[str, Row]:
    """Return the rows by `/service/method`."""
    return {
        f"/{service}/{method}": row
        for service, rows in services.items()
        for method, row in rows.items()
    }
