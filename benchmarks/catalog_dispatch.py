"""What a catalog's dispatch costs more than a bare dict lookup.

Dispatch is `catalog.routes[name]` and reaching for the route's `parse` and `apply`; what those two
do is the plugin's.

python benchmarks/catalog_dispatch.py [--json]
"""

from __future__ import annotations

import argparse
import json
import platform
import timeit
from types import ModuleType
from typing import Any, Final

from google.protobuf import any_pb2, duration_pb2, empty_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.message import Message
from quorate.plugin import Command, Txn, hookimpl
from quorate.plugin.advanced import constant_key
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin

LIMIT_NS: Final = 200
LOOPS: Final = 200_000
REPEATS: Final = 25

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
    module = ModuleType("benchmarked")
    commands = [
        Command(
            message=each,
            group="metadata",
            examples=(each(),),
            apply=apply,
            shard_key=constant_key,
        )
        for each in MESSAGES
    ]
    vars(module)["quorate_declarations"] = hookimpl(lambda: commands)
    return build(
        [Plugin(name="benchmarked", distribution="benchmarked", version="0", module=module)]
    )


def nanoseconds(statement: str, names: dict[str, Any]) -> float:
    """Return the least that the statement took, of many repeats."""
    return min(timeit.repeat(statement, globals=names, number=LOOPS, repeat=REPEATS)) / LOOPS * 1e9


def measure() -> dict[str, float]:
    """Measure both in one process, on the same name."""
    name = wrappers_pb2.StringValue.DESCRIPTOR.full_name
    built = catalog()
    bare = nanoseconds("bare[name]", {"bare": dict(built.routes), "name": name})
    dispatch = nanoseconds(
        "route = catalog.routes[name]; route.parse; route.apply", {"catalog": built, "name": name}
    )
    return {"bare_lookup_ns": bare, "dispatch_ns": dispatch, "difference_ns": dispatch - bare}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    figures = {key: round(figure, 1) for key, figure in measure().items()}
    if as_json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        print(json.dumps({**figures, "limit_ns": LIMIT_NS, "commands": len(MESSAGES), **machine}))
        return
    print(f"bare dict lookup   {figures['bare_lookup_ns']:7.1f} ns")
    print(f"catalog dispatch   {figures['dispatch_ns']:7.1f} ns")
    print(f"difference         {figures['difference_ns']:7.1f} ns, aim: under {LIMIT_NS} ns")


if __name__ == "__main__":
    main()
