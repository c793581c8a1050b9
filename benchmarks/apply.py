"""What evaluating and storing costs: items per second of batch commands, from bytes to RocksDB.

Each entry holds one command of `--items` items; it is parsed and evaluated by its handler, as the
leader does, and its effects are stored, as every replica does. The log is not part of it. In
the case `singles` an entry holds that many commands of one item each; `pairs` is a `PutPairs` of
the built-in domain kv. The bare loop puts the same rows through rocksdict alone: the floor of this
machine at that moment.

python benchmarks/apply.py [--json] [--seconds S] [--items N] [--directory DIR] [--profile CASE]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import platform
import pstats
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.apply.entries import LoggedCommand
from quorate.apply.program import families_of
from quorate.builtin.kv import plugin as kv
from quorate.plugin import ColumnFamily, Command, Txn, hookimpl, keys
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.declarations import Items
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.v1.control_pb2 import AdoptSlots
from quorate.v1.kv_pb2 import PutPair, PutPairs
from replica import Replica, command_of
from rocksdict import Options, Rdict, WriteBatch

VALUE_BYTES: Final = 128
#: Keys are drawn from so many, so that reads find rows and memory stays small.
KEYS: Final = 200_000
ROWS: Final = "benchmarked.rows"


def messages(names: Sequence[str]) -> dict[str, type[Message]]:
    """Return messages of repeated (key, value) items."""
    field = FieldDescriptorProto
    package = "benchmarked.v1"
    file = FileDescriptorProto(name="benchmarked.proto", package=package, syntax="proto3")
    item = DescriptorProto(name="Item")
    for number, name in enumerate(("key", "value"), start=1):
        item.field.add(name=name, number=number, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    file.message_type.append(item)
    for name in names:
        file.message_type.add(name=name).field.add(
            name="items",
            number=1,
            type=field.TYPE_MESSAGE,
            type_name=f".{package}.Item",
            label=field.LABEL_REPEATED,
        )
    pool = DescriptorPool()
    pool.Add(file)
    return {
        name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in ("Item", *names)
    }


def put_tightly(txn: Txn, command: Any) -> None:
    """Put every item, with nothing in the loop that can stand before it."""
    put = txn.put
    for item in command.items:
        put(ROWS, item.key, item.value)


def put_plainly(txn: Txn, command: Any) -> None:
    """Put every item as a handler is written at first: a packed key, one call an item."""
    for item in command.items:
        txn.put(ROWS, keys.pack(item.key), item.value)


def put_reading(txn: Txn, command: Any) -> None:
    """Read every row before it is put, and put it whether it was there or not."""
    for item in command.items:
        key, value = item.key, item.value
        old = txn.get(ROWS, key)
        txn.put(ROWS, key, value if old is None else value + old[:1])


CASES: Final[dict[str, Callable[[Txn, Any], None]]] = {
    "Tight": put_tightly,
    "Plain": put_plainly,
    "Reading": put_reading,
}
#: The case of the built-in domain.
PAIRS: Final = "Pairs"
AIMS: Final = {"Tight": 250_000, "Plain": 180_000, "Reading": 120_000, PAIRS: 330_000}
MESSAGES: Final = messages(tuple(CASES))


def catalog() -> Catalog:
    """Return a plugin with a command for each case."""
    module = ModuleType("benchmarked")
    group = "metadata"
    items: Items[Any, Any] = Items(
        get=lambda command: command.items,
        shard_key=lambda item: item.key,
        make=lambda command, chosen: type(command)(items=chosen),
    )
    families = [ColumnFamily(name=ROWS, group=group, row=MESSAGES["Item"])]
    commands = [
        Command(
            message=MESSAGES[name],
            group=group,
            examples=(MESSAGES[name](),),
            apply=apply,
            items=items,
        )
        for name, apply in CASES.items()
    ]
    vars(module)["quorate_declarations"] = hookimpl(lambda: [*families, *commands])
    return build(
        [Plugin(name="benchmarked", distribution="benchmarked", version="0", module=module)]
    )


def pairs(number: int, items: int) -> list[tuple[bytes, bytes]]:
    """Return the rows of one batch; those of different numbers differ."""
    return [
        (
            b"key-%012d" % ((number * items + position) * 7_919 % KEYS),
            (b"%016d" % (number * items + position)) * (VALUE_BYTES // 16),
        )
        for position in range(items)
    ]


def command(case: str, rows: Sequence[tuple[bytes, bytes]]) -> LoggedCommand:
    """Return the command of one case."""
    message: Any = MESSAGES[case]()
    for key, value in rows:
        message.items.add(key=key, value=value)
    return command_of(message)


def bare(directory: Path, items: int, seconds: float) -> dict[str, float]:
    """Put the rows of batches through rocksdict alone."""
    batches = [pairs(number, items) for number in range(64)]
    database = Rdict(str(directory / "bare"), Options(raw_mode=True))
    done, began, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        batch = WriteBatch(raw_mode=True)
        for key, value in batches[done % 64]:
            batch.put(key, value)
        database.write(batch)
        done += 1
    return _figures("bare", done * items, began, cpu)


def applied(directory: Path, case: str, items: int, seconds: float) -> dict[str, float]:
    """Evaluate and store entries of one case for some time."""
    rows = [pairs(number, items) for number in range(64)]
    if case == PAIRS:
        declared = build([Plugin(name="kv", distribution="quorate", version="0", module=kv)])
        commands = [
            command_of(PutPairs(pairs=[PutPair(key=key, value=value) for key, value in batch]))
            for batch in rows
        ]
    else:
        declared, commands = catalog(), [command(case, batch) for batch in rows]
    entries = [[command] for command in commands]
    return {
        **_run(directory, case, declared, entries, items, seconds),
        "aim_items_per_s": AIMS[case],
    }


def singles(directory: Path, items: int, seconds: float) -> dict[str, float]:
    """Evaluate and store entries of as many commands, each of one item."""
    message: Any = MESSAGES["Tight"]
    entries = []
    for number in range(16):
        commands = []
        for key, value in pairs(number, items):
            made = message()
            made.items.add(key=key, value=value)
            commands.append(command_of(made, [7]))
        entries.append(commands)
    return _run(directory, "singles", catalog(), entries, items, seconds)


def _run(
    directory: Path,
    case: str,
    declared: Catalog,
    entries: Sequence[Sequence[LoggedCommand]],
    items: int,
    seconds: float,
) -> dict[str, Any]:
    shard = ShardId("metadata", 0)
    data = ShardData.open(DiskHome(directory / case), families_of(declared, shard.group))
    replica = Replica(declared, shard, data)
    replica.apply([command_of(AdoptSlots(version=1, slots=b"\xff" * 128))])
    replica.evaluating_s = replica.storing_s = 0.0
    done, began, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        replica.apply(entries[done % len(entries)])
        done += 1
    figures = _figures(case.lower(), done * items, began, cpu)
    data.close()
    per_item = 1e6 / (done * items)
    return {
        **figures,
        "evaluate_us": round(replica.evaluating_s * per_item, 2),
        "store_us": round(replica.storing_s * per_item, 2),
    }


def _figures(case: str, items: int, began: float, cpu: float) -> dict[str, Any]:
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return {
        "case": case,
        "items_per_s": round(items / took),
        "cpu_us_per_item": round(used * 1e6 / items, 2),
    }


def main() -> None:
    """Measure every case and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--directory", type=Path, help="where the data is kept meanwhile")
    parser.add_argument("--profile", choices=[*AIMS, "Singles"], help="of one case")
    arguments = parser.parse_args()
    with TemporaryDirectory(dir=arguments.directory) as name:
        directory = Path(name)
        if arguments.profile:
            with cProfile.Profile() as profile:
                if arguments.profile == "Singles":
                    singles(directory, arguments.items, arguments.seconds)
                else:
                    applied(directory, arguments.profile, arguments.items, arguments.seconds)
            pstats.Stats(profile).sort_stats("tottime").print_stats(20)
            return
        results = [bare(directory, arguments.items, arguments.seconds)]
        results += [applied(directory, case, arguments.items, arguments.seconds) for case in AIMS]
        results.append(singles(directory, arguments.items, arguments.seconds))
    if arguments.json:
        print(json.dumps({"python": platform.python_version(), "cases": results}, indent=2))
        return
    for each in results:
        aim = f", aim {each['aim_items_per_s']:,}" if "aim_items_per_s" in each else ""
        parts = ""
        if "store_us" in each:
            parts = f" (evaluated {each['evaluate_us']}, stored {each['store_us']})"
        print(
            f"{each['case']:<8} {each['items_per_s']:>9,} items/s,"
            f" {each['cpu_us_per_item']:>6} us of CPU per item{parts}{aim}"
        )


if __name__ == "__main__":
    main()
