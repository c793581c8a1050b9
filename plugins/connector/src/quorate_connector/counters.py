"""Counts of tasks: by state, waiting, by registration, and in release."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from struct import Struct
from typing import Any, Final

from quorate.plugin import Reader, Txn, keys

from quorate_connector.families import TALLIES

#: By key: the changes of a command to the counts, not written yet.
Changes = Counter[bytes]

_STATE: Final = "state"
_WAITING: Final = "waiting"
_HELD: Final = "held"
_LEAVING: Final = "leaving"
_COUNT: Final = Struct(">Q")


@lru_cache(maxsize=4_096)
def of_state(state: int) -> bytes:
    """Return the counter key of the tasks in a state."""
    return keys.pack(_STATE, state)


@lru_cache(maxsize=4_096)
def of_waiting(kind: bytes) -> bytes:
    """Return the counter key of the waiting tasks of a kind."""
    return keys.pack(_WAITING, kind)


@lru_cache(maxsize=4_096)
def of_held(worker: str, worker_epoch: int, kind: bytes) -> bytes:
    """Return the counter key of the tasks of a kind that a registration holds."""
    return keys.pack(_HELD, worker, worker_epoch, kind)


def of_leaving(worker: str, worker_epoch: int) -> bytes:
    """Return the counter key of the tasks that a registration is to release."""
    return keys.pack(_LEAVING, worker, worker_epoch)


def read(reader: Reader, key: bytes) -> int:
    """Return the count under a key."""
    value = reader.get(TALLIES, key)
    return 0 if value is None else int(_COUNT.unpack(value)[0])


@contextmanager
def counting(txn: Txn) -> Iterator[Changes]:
    """Collect changes to the counts, and write them at the end."""
    changes = Changes()
    yield changes
    _write(txn, changes)


def states(reader: Reader) -> Iterator[tuple[int, int]]:
    """Return the states of tasks, with the count of each."""
    return _walk(reader, _STATE)


def waiting(reader: Reader) -> Iterator[tuple[bytes, int]]:
    """Return the kinds of waiting tasks, with the count of each."""
    return _walk(reader, _WAITING)


def held(reader: Reader) -> Iterator[tuple[str, int, bytes, int]]:
    """Return worker, epoch, kind and count of the tasks that registrations hold, in key order."""
    return _walk(reader, _HELD)


def has_tasks(reader: Reader, worker: str, worker_epoch: int) -> bool:
    """Return whether a registration holds any task."""
    return any(reader.scan(TALLIES, *keys.prefix(_HELD, worker, worker_epoch), limit=1))


def _walk(reader: Reader, group: str) -> Iterator[Any]:
    """Yield the other parts of the counter keys of a group, each with its count."""
    for row in reader.scan(TALLIES, *keys.prefix(group)):
        yield *keys.unpack(row.key)[1:], *_COUNT.unpack(row.value)


def _write(txn: Txn, changes: Changes) -> None:
    for key, more in changes.items():
        count = read(txn, key) + more
        if count:
            txn.put(TALLIES, key, _COUNT.pack(count))
        else:
            txn.delete(TALLIES, key)
