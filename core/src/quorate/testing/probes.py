"""Catalogs whose handlers record their actions, or fail, and whose `admit` is watched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from google.protobuf.message import Message

from quorate.plugin import Caller, NodeApi, Txn
from quorate.plugin.advanced import UndeclaredFamilyError
from quorate.plugin.catalog import Catalog

Apply = Callable[[Txn, Any], Message | None]
Admit = Callable[[NodeApi, Caller, Any], Awaitable[Message | None]]


@dataclass(slots=True)
class Doings:
    """The actions of one handler, including a handler that failed."""

    command: Message
    #: Families and keys that were written or deleted.
    written: list[tuple[str, bytes]] = field(default_factory=list)
    #: The errors about families that it may not name.
    undeclared: list[str] = field(default_factory=list)


def wrapped(catalog: Catalog, wrap: Callable[[Apply], Apply]) -> Catalog:
    """Return the same catalog, each handler wrapped by `wrap`."""
    routes = {
        name: replace(route, apply=wrap(route.apply)) for name, route in catalog.routes.items()
    }
    return replace(catalog, routes=routes)


def probed(catalog: Catalog, noted: list[Doings]) -> Catalog:
    """Return the same catalog, with handlers that add their doings to `noted`."""

    def wrap(apply: Apply) -> Apply:
        def noting(txn: Txn, command: Message) -> Message | None:
            doings = Doings(command)
            noted.append(doings)
            return apply(cast("Txn", _NotingTxn(txn, doings)), command)

        return noting

    return wrapped(catalog, wrap)


def unchanging(catalog: Catalog) -> Catalog:
    """Return the same catalog, with an `admit` that fails if it changes the command in place."""

    def checked(admit: Admit) -> Admit:
        async def checking(node: NodeApi, caller: Caller, command: Message) -> Message | None:
            before = command.SerializeToString(deterministic=True)
            admission = await admit(node, caller, command)
            if command.SerializeToString(deterministic=True) != before:
                raise RuntimeError("it changed its command in place of returning another one")
            return admission

        return checking

    commands = {
        name: command if command.admit is None else replace(command, admit=checked(command.admit))
        for name, command in catalog.commands.items()
    }
    return replace(catalog, commands=commands)


def raising(catalog: Catalog, error: Exception) -> Catalog:
    """Return the same catalog, with handlers that do all their work and then raise."""

    def wrap(apply: Apply) -> Apply:
        def raising_at_the_end(txn: Txn, command: Message) -> Message | None:
            apply(txn, command)
            raise error

        return raising_at_the_end

    return wrapped(catalog, wrap)


class _NotingTxn:
    """A transaction that records written keys and refused families."""

    _MOST_IN_RANGE: Final = 10_000

    def __init__(self, txn: Txn, doings: Doings) -> None:
        self._txn: Final = txn
        self._doings: Final = doings

    def __getattr__(self, name: str) -> Any:
        return watched(getattr(self._txn, name), self._doings.undeclared)

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self._doings.written.append((family, key))
        watched(self._txn.put, self._doings.undeclared)(family, key, value)

    def put_each(self, family: str, rows: Mapping[bytes, bytes]) -> None:
        self._doings.written.extend((family, key) for key in rows)
        watched(self._txn.put_each, self._doings.undeclared)(family, rows)

    def put_joined(self, family: str, keys: Collection[bytes], *parts: Iterable[bytes]) -> None:
        self._doings.written.extend((family, key) for key in keys)
        watched(self._txn.put_joined, self._doings.undeclared)(family, keys, *parts)

    def delete(self, family: str, key: bytes) -> None:
        self._doings.written.append((family, key))
        watched(self._txn.delete, self._doings.undeclared)(family, key)

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        rows = self.scan(family, start, end, limit=self._MOST_IN_RANGE)
        self._doings.written.extend((family, row.key) for row in rows)
        watched(self._txn.delete_range, self._doings.undeclared)(family, start, end)


def watched(found: Any, undeclared: list[str]) -> Any:
    """Return an attribute of a reader; a method adds its undeclared families to `undeclared`."""
    if not callable(found):
        return found

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return found(*args, **kwargs)
        except UndeclaredFamilyError as error:
            undeclared.append(str(error))
            raise

    return call
