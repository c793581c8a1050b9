"""What evaluating and storing costs: items per second of batch commands, from bytes to RocksDB.

Each entry holds one command of `--items` items; it is parsed and evaluated by its handler, as the
leader does, and its effects are stored, as every replica does. The log is not part of it. In
the case `singles` an entry holds that many commands of one item each; `pairs` is a `PutPairs` of
the built-in domain kv. The bare loop puts the same rows through rocksdict alone: the floor of this
machine at that moment.

python benchmarks/apply.py [--json] [--seconds S] [--items N] [--directory DIR] [--profile CASE]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final

import figures
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.apply.entries import LoggedCommand
from quorate.builtin.kv import plugin as kv
from quorate.plugin import ColumnFamily, Command, Declaration, Txn, hookimpl, keys
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.declarations import Items
from quorate.plugin.discovery import Plugin
from quorate.v1.control_pb2 import AdoptSlots
from quorate.v1.kv_pb2 import PutPair, PutPairs
from replica import command_of, opened
from rocksdict import Options, Rdict, WriteBatch
from systems.system import Meter

VALUE_BYTES: Final = 128
#: Keys are drawn from so many, so that reads find rows and memory stays small.
KEYS: Final = 200_000
ROWS: Final = "benchmarked.rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one case gave, and what each item took of the processor."""

    case: str
    items_per_s: float
    aim_items_per_s: int = 0
    cpu_us: float
    evaluate_us: float = 0.0
    store_us: float = 0.0
    seconds: float


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
#: The case of the built-in domain, and that of commands of one item.
PAIRS: Final = "Pairs"
SINGLES: Final = "Singles"
AIMS: Final = {"Tight": 250_000, "Plain": 180_000, "Reading": 120_000, PAIRS: 330_000}
MESSAGES: Final = messages(tuple(CASES))


def catalog() -> Catalog:
    """Return a plugin with a command for each case."""
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
    return catalog_with([*families, *commands])


def catalog_with(declarations: Sequence[Declaration]) -> Catalog:
    """Return the catalog of a plugin with these declarations."""
    module = ModuleType("benchmarked")
    vars(module)["quorate_declarations"] = hookimpl(lambda: declarations)
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


def command(
    case: str, rows: Sequence[tuple[bytes, bytes]], slots: Sequence[int] = ()
) -> LoggedCommand:
    """Return the command of one case."""
    items = [MESSAGES["Item"](key=key, value=value) for key, value in rows]
    return command_of(MESSAGES[case](items=items), slots)


def bare(directory: Path, items: int, seconds: float) -> Row:
    """Put the rows of batches through rocksdict alone."""
    batches = [pairs(number, items) for number in range(64)]
    database = Rdict(str(directory / "bare"), Options(raw_mode=True))

    def put(number: int) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in batches[number % 64]:
            batch.put(key, value)
        database.write(batch)

    return _repeated("bare", put, items, seconds)


def applied(directory: Path, case: str, items: int, seconds: float) -> Row:
    """Evaluate and store entries of one case for some time."""
    rows = [pairs(number, items) for number in range(64)]
    declared, aim = catalog(), AIMS.get(case, 0)
    if case == SINGLES:
        entries = [[command("Tight", [pair], [7]) for pair in batch] for batch in rows[:16]]
    elif case == PAIRS:
        declared = build([Plugin(name="kv", distribution="quorate", version="0", module=kv)])
        entries = [
            [command_of(PutPairs(pairs=[PutPair(key=key, value=value) for key, value in batch]))]
            for batch in rows
        ]
    else:
        entries = [[command(case, batch)] for batch in rows]
    with opened(directory, declared, "metadata") as replica:
        replica.apply([command_of(AdoptSlots(version=1, slots=b"\xff" * 128))])
        replica.evaluating_s = replica.storing_s = 0.0
        row = _repeated(
            case.lower(),
            lambda number: replica.apply(entries[number % len(entries)]),
            items,
            seconds,
        )
        each_us = 1e6 / (row.items_per_s * row.seconds)
        return replace(
            row,
            evaluate_us=replica.evaluating_s * each_us,
            store_us=replica.storing_s * each_us,
            aim_items_per_s=aim,
        )


def _repeated(case: str, do: Callable[[int], object], items: int, seconds: float) -> Row:
    """Repeat work on a number of items for some time."""
    meter, done = Meter(()), 0
    while (used := meter.read()).seconds < seconds:
        do(done)
        done += 1
    _, cpu_us = used.each_us(done * items)
    return Row(
        case=case, items_per_s=done * items / used.seconds, cpu_us=cpu_us, seconds=used.seconds
    )


def main() -> None:
    """Measure every case and print."""
    parser = figures.Options(__doc__, seconds=3.0, items=1_000)
    parser.add_argument("--profile", choices=[*AIMS, SINGLES], help="of one case")
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.directory) as name:
        measured = Path(name), options.items, options.seconds
        if options.profile:
            with figures.profiled():
                applied(measured[0], options.profile, *measured[1:])
            return
        rows = [bare(*measured)]
        rows += [applied(measured[0], case, *measured[1:]) for case in (*AIMS, SINGLES)]
    figures.report(rows, as_json=options.json)


if __name__ == "__main__":
    main()
