"""What a cluster whose shards are split is used for: a plugin of lists that only grow.

A list says which operations there were, how often and in what order; every append may set an alarm,
and every shard counts its lists.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from quorate.plugin import (
    ColumnFamily,
    Command,
    Declaration,
    Items,
    Query,
    RaftGroup,
    Reader,
    Timer,
    Txn,
    hookimpl,
    keys,
)
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.v1.batch_pb2 import BatchReply

from tests.support.sim.hosting import Hosting
from tests.support.sim.v1.lists_pb2 import (
    Append,
    Appended,
    GoneOff,
    GoOff,
    List,
    ReadList,
    ReadLists,
)

GROUP: Final = "lists"
LISTS: Final = "lists.rows"
GONE_OFF: Final = "lists.gone_off"
#: One row in each shard: how many lists it has.
SIZES: Final = "lists.sizes"
SIZE: Final = b"size"
ALARM: Final = "lists.alarm"
IDS: Final = "lists.ids"

_END: Final = b"\xff" * 64


def key_of(name: str) -> bytes:
    """Return the key of a list."""
    return keys.pack(name)


def alarm_key(name: str, operation: int) -> bytes:
    """Return the key of the alarm of an operation."""
    return key_of(name) + operation.to_bytes(8, "big")


def list_of(alarm: bytes) -> bytes:
    """Return the key of the list that an alarm is for."""
    return alarm[:-8]


def size_of(stored: bytes | None) -> int:
    """Return how many lists there are, from the row that says so."""
    return int.from_bytes(stored or b"", "big")


def append(txn: Txn, command: Append) -> Appended:
    """Append to a list."""
    key = key_of(command.key)
    stored = txn.get(LISTS, key)
    row = List(key=command.key) if stored is None else List.FromString(stored)
    if stored is None:
        _count(txn, 1)
    row.operations.append(command.operation)
    txn.put(LISTS, key, row.SerializeToString(deterministic=True))
    if command.ttl_ms:
        at_ms = txn.proposed_at_ms + command.ttl_ms
        txn.schedule(ALARM, alarm_key(command.key, command.operation), at_ms)
    return Appended(length=len(row.operations), id=txn.next_id(IDS))


def go_off(txn: Txn, command: GoOff) -> BatchReply:
    """Set off the alarms that are due."""
    for key in command.keys:
        due_ms = txn.deadline(ALARM, key)
        if due_ms is None or due_ms > txn.proposed_at_ms:
            continue
        gone = GoneOff.FromString(txn.get(GONE_OFF, key) or b"")
        gone.times += 1
        gone.at_ms, gone.due_ms = txn.proposed_at_ms, due_ms
        txn.put(GONE_OFF, key, gone.SerializeToString(deterministic=True))
        txn.schedule(ALARM, key, None)
    return BatchReply(items=len(command.keys))


def departs(txn: Txn, _: bytes, __: bytes) -> None:
    """Count a list no more, which is another shard's now."""
    _count(txn, -1)


def joins(_: bytes, own: bytes, other: bytes) -> bytes:
    """Count the lists of two shards that become one."""
    return (size_of(own) + size_of(other)).to_bytes(8, "big")


def _count(txn: Txn, more: int) -> None:
    txn.put(SIZES, SIZE, (size_of(txn.get(SIZES, SIZE)) + more).to_bytes(8, "big"))


def read_list(reader: Reader, asked: ReadList) -> Iterator[List]:
    """Answer with one list."""
    stored = reader.get(LISTS, key_of(asked.key))
    if stored is not None:
        yield List.FromString(stored)


def read_lists(reader: Reader, _: ReadLists) -> Iterator[List]:
    """Answer with all."""
    for row in reader.scan(LISTS, b"", _END, limit=10_000):
        yield List.FromString(row.value)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    """Return all declarations."""
    return [
        RaftGroup(name=GROUP),
        ColumnFamily(
            name=LISTS, group=GROUP, row=List, shard_key=bytes, departs=departs, counted=True
        ),
        ColumnFamily(name=GONE_OFF, group=GROUP, shard_key=list_of),
        ColumnFamily(name=SIZES, group=GROUP, joins=joins),
        Command(
            message=Append,
            group=GROUP,
            examples=(Append(operation=1, key="a", ttl_ms=5),),
            shard_key=lambda command: key_of(command.key),
            apply=append,
        ),
        Command(
            message=GoOff,
            group=GROUP,
            examples=(GoOff(keys=[alarm_key("a", 1)]),),
            items=Items(
                get=lambda command: command.keys,
                shard_key=list_of,
                make=lambda _, due: GoOff(keys=due),
            ),
            apply=go_off,
        ),
        Query(
            message=ReadList, group=GROUP, run=read_list, shard_key=lambda asked: key_of(asked.key)
        ),
        Query(
            message=ReadLists, group=GROUP, run=read_lists, order=lambda found: key_of(found.key)
        ),
        Timer(name=ALARM, group=GROUP, due=lambda due: GoOff(keys=due), batch=5),
    ]


#: What simulated nodes host.
HOSTING: Final = Hosting(
    build(
        [Plugin(name="lists", distribution="quorate", version="0", module=sys.modules[__name__])]
    ),
    GROUP,
)
