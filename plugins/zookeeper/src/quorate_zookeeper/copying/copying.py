"""Copies znodes: their paths, data and access control lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from quorate.plugin.batches import in_parts

from quorate_zookeeper.copying.client import AnswerError, Client
from quorate_zookeeper.tree.paths import parent_of
from quorate_zookeeper.wire import jute, replies, requests
from quorate_zookeeper.wire.codes import Error, Op

#: Znodes copied at a time.
_AT_A_TIME: Final = 64
_RECURSIVE: Final = 1
_ANY_VERSION: Final = jute.int32(-1)
_UNWATCHED: Final = b"\x00"
#: Znodes of the server itself.
_OWN: Final = "/zookeeper"


@dataclass
class Copied:
    """The outcome of a copy."""

    copied: int = 0
    #: Skipped ephemeral znodes: they end with their sessions, which are not copied.
    ephemeral: int = 0
    #: Znodes whose data has changed since their creation; their copies start at version 0.
    versioned: int = 0
    deleted: int = 0
    #: Changes copied while following.
    followed: int = 0
    #: Znodes that the source or the target refused, with the error codes.
    refused: dict[str, int] = field(default_factory=dict)


class Copy:
    """A copy of a znode and its descendants."""

    def __init__(self, source: Client, target: Client, root: str, *, deletes: bool) -> None:
        self._source: Final = source
        self._target: Final = target
        self._root: Final = root
        self._deletes: Final = deletes
        self.done: Final = Copied()

    async def watch(self) -> None:
        """Watch the source for changes from now on."""
        await self._source.ask(Op.ADD_WATCH, jute.text(self._root) + jute.int32(_RECURSIVE))

    async def copy(self) -> None:
        """Copy all existing znodes, parents before their children."""
        await self._make_parents(self._root)
        level = [self._root]
        while level:
            below: list[str] = []
            for part in in_parts(level, _AT_A_TIME):
                for found in await asyncio.gather(*map(self._copy_one, part)):
                    below += found
            level = below

    async def follow(self, report: Callable[[Copied], None]) -> None:
        """Copy changes until the connection to the source is lost."""
        while (event := await self._source.events.get()) is not None:
            _, path = event
            if not _is_own(path):
                await self._copy_one(path)
                self.done.followed += 1
                report(self.done)

    async def _copy_one(self, path: str) -> list[str]:
        """Copy a znode, and return the paths of its children."""
        source = self._source
        try:
            data, acl, names = await asyncio.gather(
                source.ask(Op.GET_DATA, jute.text(path) + _UNWATCHED),
                source.ask(Op.GET_ACL, jute.text(path)),
                source.ask(Op.GET_CHILDREN, jute.text(path) + _UNWATCHED),
            )
        except AnswerError as error:
            if error.code == Error.NO_NODE:
                await self._delete(path)
            else:
                self.done.refused[path] = error.code
            return []
        content, stat = data.buffer(), replies.Described.decode(data)
        if stat.ephemeral_owner:
            self.done.ephemeral += 1
            return []
        entries = replies.acl(requests.acl(acl))
        children = names.vector(names.text)
        try:
            await self._put(path, content, entries)
        except AnswerError as error:
            self.done.refused[path] = error.code
            return []
        self.done.copied += 1
        self.done.versioned += stat.version > 0
        below = [path.rstrip("/") + "/" + name for name in children]
        if self._deletes:
            await self._delete_others(path, {*children})
        return [each for each in below if not _is_own(each)]

    async def _put(self, path: str, data: bytes | None, acl: bytes) -> None:
        """Create a znode, or change it if it exists."""
        target = self._target
        try:
            if path != "/":
                record = jute.text(path) + jute.buffer(data) + acl + jute.int32(0)
                await target.ask(Op.CREATE, record)
                return
        except AnswerError as error:
            if error.code == Error.NO_NODE:
                # Its parent was created meanwhile; that event has not arrived yet.
                await self._make_parents(path)
                await self._put(path, data, acl)
                return
            if error.code != Error.NODE_EXISTS:
                raise
        found = await target.ask(Op.GET_DATA, jute.text(path) + _UNWATCHED)
        if found.buffer() != data:
            await target.ask(Op.SET_DATA, jute.text(path) + jute.buffer(data) + _ANY_VERSION)
        held = await target.ask(Op.GET_ACL, jute.text(path))
        if replies.acl(requests.acl(held)) != acl:
            await target.ask(Op.SET_ACL, jute.text(path) + acl + _ANY_VERSION)

    async def _make_parents(self, path: str) -> None:
        if path == "/" or parent_of(path) == "/":
            return
        await self._make_parents(parent_of(path))
        made = jute.text(parent_of(path)) + jute.buffer(b"") + requests.EVERYBODY
        try:
            await self._target.ask(Op.CREATE, made + jute.int32(0))
        except AnswerError as error:
            if error.code != Error.NODE_EXISTS:
                raise

    async def _delete_others(self, path: str, names: set[str]) -> None:
        held = await self._target.ask(Op.GET_CHILDREN, jute.text(path) + _UNWATCHED)
        for name in held.vector(held.text):
            child = path.rstrip("/") + "/" + name
            if name not in names and not _is_own(child):
                await self._delete(child)

    async def _delete(self, path: str) -> None:
        """Delete a znode of the target and its descendants, except ephemerals and their parents."""
        try:
            held = await self._target.ask(Op.GET_CHILDREN2, jute.text(path) + _UNWATCHED)
            names = held.vector(held.text)
            if replies.Described.decode(held).ephemeral_owner:
                return
            for name in names:
                await self._delete(f"{path}/{name}")
            await self._target.ask(Op.DELETE, jute.text(path) + _ANY_VERSION)
            self.done.deleted += 1
        except AnswerError as error:
            if error.code != Error.NO_NODE:
                self.done.refused[path] = error.code


def _is_own(path: str) -> bool:
    return path == _OWN or path.startswith(_OWN + "/")
