"""What a catalog's dispatch costs more than a bare dict lookup.

Dispatch is `catalog.routes[name]` and reaching for the route's `parse` and `apply`; what those two
do is the plugin's.

python benchmarks/catalog_dispatch.py [--json]
"""

from __future__ import annotations

import timeit
from dataclasses import dataclass
from typing import Any, Final

from apply import catalog_with
from figures import Options, report
from google.protobuf import any_pb2, duration_pb2, empty_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.message import Message
from quorate.plugin import Command, Txn
from quorate.plugin.advanced import constant_key
from quorate.plugin.catalog import Catalog

LIMIT_NS: Final = 200
LOOPS: Final = 200_000
REPEATS: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What each took, and the most that the difference is to be."""

    bare_lookup_ns: float
    dispatch_ns: float
    difference_ns: float
    limit_ns: int = LIMIT_NS


MESSAGES: Final[tuple[type[Message], ...]] = (
    any_pb2.Any,
    duration_pb2.Duration,
    empty_pb2.Empty,
    timestamp_pb2.Timestamp,
    wrappers_pb2.BoolValue,
    wrappers_pb2.BytesValue,
    wrappers_pb2.DoubleValue,
    wrappers_pb2.Int64Value,
    wrappers_pb2.StringValue,
    wrappers_pb2.UInt64Value,
)


def apply(_txn: Txn, _command: Message) -> None:
    """Apply nothing."""


def catalog() -> Catalog:
    """Return the catalog of a plugin whose commands are messages that protobuf brings along."""
    return catalog_with(
        [
            Command(
                message=each,
                group="metadata",
                examples=(each(),),
                apply=apply,
                shard_key=constant_key,
            )
            for each in MESSAGES
        ]
    )


def nanoseconds(statement: str, names: dict[str, Any]) -> float:
    """Return the least that the statement took, of many repeats."""
    return min(timeit.repeat(statement, globals=names, number=LOOPS, repeat=REPEATS)) / LOOPS * 1e9


def measure() -> Row:
    """Measure both in one process, on the same name."""
    name = wrappers_pb2.StringValue.DESCRIPTOR.full_name
    built = catalog()
    bare = nanoseconds("bare[name]", {"bare": dict(built.routes), "name": name})
    dispatch = nanoseconds(
        "route = catalog.routes[name]; route.parse; route.apply", {"catalog": built, "name": name}
    )
    return Row(bare_lookup_ns=bare, dispatch_ns=dispatch, difference_ns=dispatch - bare)


def main() -> None:
    """Measure and print."""
    options = Options(__doc__).parse_args()
    report([measure()], as_json=options.json)


if __name__ == "__main__":
    main()
