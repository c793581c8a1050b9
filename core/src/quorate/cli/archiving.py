"""Keeps an archive of a cluster: periodic backups, and every entry once it is applied."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quorate.cli.backup import copy
from quorate.cli.failures import failure
from quorate.cli.statuses import name_of
from quorate.cli.terminal import ADMIN
from quorate.client.errors import OutcomeUnknownError, RejectedError, UnavailableError
from quorate.consensus.messages import Entry, EntryKind
from quorate.control.failures import Backoff
from quorate.storage import backup_stores
from quorate.storage.archive import Archive, ArchiveError
from quorate.storage.backup_stores import Place
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: Size of buffered entries at which they are written before they are due.
_MOST_BYTES: Final = 8 << 20
_RETRY_S: Final = 1.0
#: Longest pause before another backup for a shard whose entries are refused in spite of backups.
_REFUSED_S: Final = 3_600.0
#: Nodes send a part every second.
_SILENCE_S: Final = 15.0

Say = Callable[[str], None]


async def follow(
    client: AsyncClient,
    directory: Place,
    *,
    every_s: float,
    backup_every_s: float,
    keep_s: float | None,
    say: Say,
) -> None:
    """Keep the archive in a directory until cancelled.

    Entries are also followed while a backup is made, so that they cover its end.
    """
    topology = await client.topology()
    try:
        archive = Archive.begin(directory, topology.cluster_id)
    except ArchiveError as error:
        raise failure(str(error)) from None
    due_in_s = archive.begun_at_s() + backup_every_s - time.time()
    followers: dict[str, _Follower] = {}
    async with asyncio.TaskGroup() as group:
        while True:
            if due_in_s <= 0:
                await _back_up(client, archive, say)
                if keep_s is not None:
                    await asyncio.to_thread(_forget, archive, keep_s)
                due_in_s = backup_every_s
            for shard, index in _indexes(archive.backups()[-1]).items():
                if shard not in followers:
                    followers[shard] = _Follower(client, archive, shard, every_s, say)
                    group.create_task(followers[shard].run())
                followers[shard].backed_up(index)
            why = await _backup_needed(client, followers, time.monotonic() + due_in_s, every_s)
            say(f"a new backup is {why}")
            due_in_s = 0


async def _backup_needed(
    client: AsyncClient, followers: Mapping[str, _Follower], due: float, every_s: float
) -> str:
    """Wait until another backup is needed or due; return why."""
    while time.monotonic() < due:
        for shard, follower in followers.items():
            if follower.needs:
                return f"needed: {shard}: {follower.needs}"
        with suppress(UnavailableError, OutcomeUnknownError):
            now = {name_of(place) for place in (await client.topology()).shards}
            if now - followers.keys():
                return f"needed: there is a new shard {min(now - followers.keys())}"
        await asyncio.sleep(min(every_s, _RETRY_S))
    return "due"


@dataclass(eq=False)
class _Follower:
    """Archives the entries of a shard after its backup, from any node that has them."""

    _client: AsyncClient
    _archive: Archive
    _shard: str
    _every_s: float
    _say: Say
    _backup: int = 0
    _refusals: Backoff = field(default_factory=lambda: Backoff(_RETRY_S, _REFUSED_S))
    #: When a refusal that lasts means that a backup is needed.
    _needed_at: float | None = None
    #: Why the shard needs a new backup; empty if it does not.
    needs: str = ""

    def backed_up(self, index: int) -> None:
        self._backup, self.needs, self._needed_at = index, "", None

    async def run(self) -> None:
        turn, said = 0, ""
        while True:
            try:
                places = (await self._client.topology()).shards
                place = next((each for each in places if name_of(each) == self._shard), None)
                if place is not None and place.nodes:
                    await self._follow(place.nodes[turn % len(place.nodes)])
            except RejectedError as error:
                self._refused(error)
            except (UnavailableError, OutcomeUnknownError, TimeoutError) as error:
                if said != str(error):
                    said = str(error)
                    self._say(f"{self._shard}: {said or 'a node is silent'}; asking another node")
            except OSError as error:
                if said != str(error):
                    said = str(error)
                    self._say(f"{self._shard}: could not store entries, retrying: {said}")
            turn += 1
            await asyncio.sleep(_RETRY_S)

    def _refused(self, error: RejectedError) -> None:
        """Ask for a backup after a pause, in which other nodes are tried.

        The pause grows with each backup that did not help, as when nodes are too old for this.
        """
        now = time.monotonic()
        if self._needed_at is None:
            self._needed_at = now + self._refusals.failed()
        if now >= self._needed_at:
            self.needs = str(error)

    async def _follow(self, node: str) -> None:
        after = await asyncio.to_thread(self._archive.reached, self._shard, self._backup)
        request = pb.EntriesRequest(shard=self._shard, after=after)
        parts = self._client.at(node).stream(f"{ADMIN}/Entries", request, pb.EntriesPart)
        async with aclosing(parts):
            waiting: list[Entry] = []
            size, due = 0, time.monotonic() + self._every_s
            while True:
                async with asyncio.timeout(_SILENCE_S):
                    part = await anext(parts, None)
                if part is None:
                    return
                self._needed_at = None
                self._refusals.succeeded()
                for each in part.entries:
                    kind = EntryKind(each.kind)
                    waiting.append(Entry(each.index, each.term, kind, each.payload))
                    size += len(each.payload)
                if part.needs_backup:
                    self.needs = "it was split, or rows were loaded from files"
                if time.monotonic() < due and size < _MOST_BYTES:
                    continue
                if waiting:
                    after = waiting[-1].index
                await asyncio.to_thread(self._write, waiting, part.complete_until_ms, after)
                waiting, size, due = [], 0, time.monotonic() + self._every_s

    def _write(self, entries: list[Entry], complete_until_ms: int, index: int) -> None:
        if entries:
            self._archive.append(self._shard, entries)
        if complete_until_ms:
            self._archive.set_complete(self._shard, complete_until_ms, index)


def _shards(backup: Place) -> Mapping[str, Mapping[str, int]]:
    shards: Mapping[str, Mapping[str, int]] = json.loads((backup / "backup.json").read_bytes())[
        "shards"
    ]
    return shards


def _indexes(backup: Place) -> Mapping[str, int]:
    return {shard: manifest["index"] for shard, manifest in _shards(backup).items()}


async def _back_up(client: AsyncClient, archive: Archive, say: Say) -> None:
    while True:
        try:
            path = await asyncio.to_thread(archive.new_backup)
            files, size = await copy(client, path)
        except (RejectedError, UnavailableError, OutcomeUnknownError, OSError) as error:
            say(f"the backup failed, retrying: {error}")
            await asyncio.sleep(_RETRY_S)
        else:
            say(f"{files} files, {size} bytes in {path}")
            return


def _forget(archive: Archive, keep_s: float) -> None:
    """Remove backups and entries that restores of the last `keep_s` seconds do not need."""
    begins_ms = (time.time() - keep_s) * 1_000
    older = archive.backups()[:-1]
    before = [
        each
        for each in older
        if max(manifest["now_ms"] for manifest in _shards(each).values()) <= begins_ms
    ]
    for backup in before[:-1]:
        # The manifest first: an interruption leaves nothing that looks complete.
        (backup / "backup.json").unlink()
        backup_stores.remove_all(backup)
    for shard, index in _indexes(archive.backups()[0]).items():
        archive.forget(shard, index)
