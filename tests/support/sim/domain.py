"""What the simulated cluster is used for: a plugin like any other, that leaves traces.

Every operation leaves its number in `sim.marks`, with how often it was applied.
"""

import sys
from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message
from quorate.plugin import (
    ColumnFamily,
    Command,
    Declaration,
    Items,
    RaftGroup,
    Rejected,
    Timer,
    Txn,
    hookimpl,
    keys,
)
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.v1.batch_pb2 import BatchReply

from tests.support.sim.hosting import Hosting
from tests.support.sim.v1.domain_pb2 import Add, Added, Counter, Erase, Expire, Register, Write

GROUP: Final = "sim"
REGISTERS: Final = "sim.registers"
COUNTERS: Final = "sim.counters"
#: How often each operation was applied.
MARKS: Final = "sim.marks"
#: The operations that wrote each register since it was erased.
NOTES: Final = "sim.notes"
EXPIRY: Final = "sim.expiry"
IDS: Final = "sim.adds"


def key_of(name: str) -> bytes:
    """Return the key of a register or a counter."""
    return keys.pack(name)


def mark_key(operation: int) -> bytes:
    """Return where an operation leaves its mark."""
    return operation.to_bytes(8, "big")


def note_key(key: bytes, operation: int) -> bytes:
    """Return where it is noted that an operation wrote a register."""
    return key + mark_key(operation)


def write(txn: Txn, command: Write) -> None:
    """Set a register."""
    key = key_of(command.key)
    row = txn.get_row(REGISTERS, key)
    revision = row.revision if row else 0
    if command.HasField("expected") and command.expected != revision:
        raise Rejected("FAILED_PRECONDITION", str(revision))
    _mark(txn, command.operation)
    register = Register(content=command.content, operation=command.operation)
    txn.put(REGISTERS, key, register.SerializeToString(deterministic=True))
    txn.put(NOTES, note_key(key, command.operation), b"")
    at_ms = txn.proposed_at_ms + command.ttl_ms if command.ttl_ms else None
    txn.schedule(EXPIRY, key, at_ms)


def add(txn: Txn, command: Add) -> Message:
    """Add to a counter."""
    _mark(txn, command.operation)
    key = key_of(command.key)
    counter = Counter.FromString(txn.get(COUNTERS, key) or b"")
    counter.total += command.amount
    txn.put(COUNTERS, key, counter.SerializeToString(deterministic=True))
    return Added(total=counter.total, id=txn.next_id(IDS))


def erase(txn: Txn, command: Erase) -> None:
    """Erase a register."""
    key = key_of(command.key)
    if txn.get(REGISTERS, key) is None:
        raise Rejected("NOT_FOUND", command.key)
    _mark(txn, command.operation)
    _erase(txn, key)
    txn.emit(command)


def expire(txn: Txn, command: Expire) -> BatchReply:
    """Erase registers whose time has passed."""
    for key in command.keys:
        deadline = txn.deadline(EXPIRY, key)
        if deadline is not None and deadline <= txn.proposed_at_ms:
            _erase(txn, key)
    return BatchReply(items=len(command.keys))


def _erase(txn: Txn, key: bytes) -> None:
    txn.delete(REGISTERS, key)
    txn.delete_range(NOTES, note_key(key, 0), note_key(key, (1 << 64) - 1))
    txn.schedule(EXPIRY, key, None)


def _mark(txn: Txn, operation: int) -> None:
    key = mark_key(operation)
    before = int.from_bytes(txn.get(MARKS, key) or b"", "big")
    txn.put(MARKS, key, (before + 1).to_bytes(8, "big"))


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    """Return all declarations."""
    return [
        RaftGroup(name=GROUP, shards=3),
        ColumnFamily(name=REGISTERS, group=GROUP, row=Register, shard_key=bytes),
        ColumnFamily(name=COUNTERS, group=GROUP, row=Counter, shard_key=bytes, previous=True),
        ColumnFamily(name=MARKS, group=GROUP),
        ColumnFamily(name=NOTES, group=GROUP),
        Command(
            message=Write,
            group=GROUP,
            examples=(Write(operation=1, key="a", content=b"x", ttl_ms=5),),
            shard_key=lambda command: key_of(command.key),
            public=True,
            apply=write,
        ),
        Command(
            message=Add,
            group=GROUP,
            examples=(Add(operation=2, key="a", amount=1),),
            shard_key=lambda command: key_of(command.key),
            public=True,
            apply=add,
        ),
        Command(
            message=Erase,
            group=GROUP,
            examples=(Erase(operation=3, key="a"),),
            shard_key=lambda command: key_of(command.key),
            public=True,
            apply=erase,
        ),
        Command(
            message=Expire,
            group=GROUP,
            examples=(Expire(keys=[key_of("a")]),),
            items=Items(
                get=lambda command: command.keys,
                shard_key=bytes,
                make=lambda _, due: Expire(keys=due),
            ),
            apply=expire,
        ),
        Timer(name=EXPIRY, group=GROUP, due=lambda due: Expire(keys=due)),
    ]


#: What simulated nodes host.
CATALOG: Final = build(
    [Plugin(name="sim", distribution="quorate", version="0", module=sys.modules[__name__])]
)
HOSTING: Final = Hosting(CATALOG, GROUP)
