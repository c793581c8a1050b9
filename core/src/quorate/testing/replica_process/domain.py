"""What the processes under test serve: a plugin like any other, with commands that do harm too."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from google.protobuf.message import Message

from quorate.plugin import (
    METADATA_GROUP,
    ColumnFamily,
    Command,
    DataRoute,
    Items,
    Rejected,
    Txn,
    hookimpl,
    keys,
)
from quorate.plugin.declarations import constant_key
from quorate.testing.replica_process.v1.domain_pb2 import (
    Add,
    Added,
    Counter,
    Deviate,
    Fail,
    Item,
    KeepItems,
    Note,
    PutItems,
    RemoveItems,
    ReplaceItems,
    StoreItems,
    Work,
)
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

PLUGIN: Final = "process"
GROUP: Final = METADATA_GROUP.name
#: Names in the order in which they came.
NOTES: Final = "process.notes"
COUNTERS: Final = "process.counters"
ITEMS: Final = "process.items"
#: Rows without events.
KEPT: Final = "process.kept"
#: How often each work was applied.
MARKS: Final = "process.marks"
FAMILIES: Final = frozenset({NOTES, COUNTERS, ITEMS, KEPT, MARKS})

#: What is kept of a name.
HEAD_BYTES: Final = 32
#: What a work puts into each of its items.
ITEM_BYTES: Final = 112

_SEQUENCE: Final = "process.notes"

#: Set in a process that is to apply `Deviate` otherwise than the others.
deviant = False


def counter_key(name: str) -> bytes:
    """Return the key of a counter."""
    return keys.pack(name)


def worker(client: int) -> str:
    """Return the name of the counter of a client's works."""
    return f"works of {client}"


def mark_key(client: int, number: int) -> bytes:
    """Return where a work leaves its mark."""
    return keys.pack(client, number)


def item_keys(client: int, number: int, items: int) -> list[bytes]:
    """Return the keys of the items that a work puts."""
    start = keys.pack(client, number)
    return [start + place.to_bytes(4, "big") for place in range(items)]


def note(txn: Txn, command: Note) -> None:
    """Remember a name."""
    txn.put(NOTES, txn.next_id(_SEQUENCE).to_bytes(8, "big"), command.name[:HEAD_BYTES])


def add(txn: Txn, command: Add) -> Message:
    """Add to a counter."""
    return Added(total=_add(txn, command.counter, command.amount))


def work(txn: Txn, command: Work) -> Message:
    """Leave the traces of a work."""
    client, number = command.client, command.number
    content = bytes([number & 0xFF]) * ITEM_BYTES
    for key in item_keys(client, number, command.items):
        txn.put(ITEMS, key, content)
    if command.removes:
        for key in item_keys(client, command.removes, command.items):
            txn.delete(ITEMS, key)
    mark = mark_key(client, number)
    times = int.from_bytes(txn.get(MARKS, mark) or b"", "big") + 1
    txn.put(MARKS, mark, times.to_bytes(4, "big"))
    return Added(total=_add(txn, worker(client), 1))


def put_items(txn: Txn, command: PutItems) -> Message:
    """Put contents as they are."""
    put = txn.put
    for item in command.items:
        put(ITEMS, item.key, item.content)
    return BatchReply(items=len(command.items))


def keep_items(txn: Txn, command: KeepItems) -> Message:
    """Put contents as they are, where nobody watches."""
    put = txn.put
    for item in command.items:
        put(KEPT, item.key, item.content)
    return BatchReply(items=len(command.items))


def store_items(txn: Txn, command: StoreItems) -> Message:
    """Put a row for each item; one without a key breaks it."""
    for item in command.items:
        if not item.key:
            raise ValueError("an item without a key")
        row = Item(content=item.content)
        txn.put(ITEMS, keys.pack(item.key), row.SerializeToString(deterministic=True))
    return BatchReply(items=len(command.items))


def replace_items(txn: Txn, command: ReplaceItems) -> Message:
    """Put a row for each item, and count how often each was replaced."""
    refusals = []
    for place, item in enumerate(command.items):
        key = keys.pack(item.key)
        before = txn.get(ITEMS, key)
        writes = 1 if before is None else Item.FromString(before).writes + 1
        if len(item.content) > 1_024:
            refusals.append(ItemRefusal(item=place, code="INVALID_ARGUMENT", message="too large"))
            continue
        row = Item(content=item.content, writes=writes)
        txn.put(ITEMS, key, row.SerializeToString(deterministic=True))
    return BatchReply(items=len(command.items), refusals=refusals)


def remove_items(txn: Txn, command: RemoveItems) -> Message:
    """Remove items, wherever they are."""
    for key in command.keys:
        txn.delete(ITEMS, key)
        txn.delete(KEPT, key)
    return BatchReply(items=len(command.keys))


def fail(txn: Txn, _: Fail) -> None:
    """Write, and break."""
    txn.put(MARKS, b"broken", b"")
    raise RuntimeError("broken on purpose")


def deviate(txn: Txn, _: Deviate) -> None:
    """Write what depends on the process."""
    txn.put(MARKS, b"deviant", b"\x01" if deviant else b"\x00")


def _add(txn: Txn, name: str, amount: int) -> int:
    if not name:
        raise Rejected("INVALID_ARGUMENT", "a counter without a name")
    key = counter_key(name)
    counter = Counter.FromString(txn.get(COUNTERS, key) or b"")
    counter.total += amount
    txn.put(COUNTERS, key, counter.SerializeToString(deterministic=True))
    return counter.total


def _items(message: Callable[..., Any]) -> Items[Any, Item]:
    return Items(
        get=lambda command: command.items,
        shard_key=constant_key,
        make=lambda _, items: message(items=items),
    )


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    """Return the families."""
    return [
        ColumnFamily(name=NOTES, group=GROUP),
        ColumnFamily(name=COUNTERS, group=GROUP, row=Counter, previous=True),
        ColumnFamily(name=ITEMS, group=GROUP, row=Item),
        ColumnFamily(name=KEPT, group=GROUP),
        ColumnFamily(name=MARKS, group=GROUP),
    ]


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    """Return the vocabulary."""
    single: list[Message] = [
        Note(name=b"a"),
        Add(counter="a", amount=1),
        Work(client=1, number=1, items=1),
        Fail(),
        Deviate(),
    ]
    batches = [PutItems, KeepItems, StoreItems, ReplaceItems]
    item = Item(key=b"a", content=b"b")
    return [
        *(
            Command(message=type(each), group=GROUP, examples=(each,), shard_key=constant_key)
            for each in single
        ),
        *(
            Command(message=each, group=GROUP, examples=(each(items=[item]),), items=_items(each))
            for each in batches
        ),
        Command(
            message=RemoveItems,
            group=GROUP,
            examples=(RemoveItems(keys=[b"a"]),),
            items=Items(
                get=lambda command: command.keys,
                shard_key=constant_key,
                make=lambda _, removed: RemoveItems(keys=removed),
            ),
        ),
    ]


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    """Return how commands are applied."""
    return [
        DataRoute(message=Note, apply=note),
        DataRoute(message=Add, apply=add),
        DataRoute(message=Work, apply=work),
        DataRoute(message=PutItems, apply=put_items),
        DataRoute(message=KeepItems, apply=keep_items),
        DataRoute(message=StoreItems, apply=store_items),
        DataRoute(message=ReplaceItems, apply=replace_items),
        DataRoute(message=RemoveItems, apply=remove_items),
        DataRoute(message=Fail, apply=fail),
        DataRoute(message=Deviate, apply=deviate),
    ]
