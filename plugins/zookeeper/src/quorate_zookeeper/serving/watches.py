"""The watches of a node's connections, and how changes of the tree fire them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, Protocol

from quorate_zookeeper.tree.acl import allows
from quorate_zookeeper.tree.paths import parent_of
from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_zookeeper.wire.codes import Event, Perm


class Kind(Enum):
    """The kinds of watches, by the events they report."""

    #: Data: the znode is created, changed or deleted; once.
    DATA = 1
    #: Children come and go, or the znode is deleted; once.
    CHILDREN = 2
    #: Both, repeatedly.
    PERSISTENT = 3
    #: The znode and its descendants, repeatedly; no events of children.
    RECURSIVE = 4


#: Approximate memory of a watch beside its path, and the share that one watcher may use.
_WATCH_BYTES: Final = 256
_SHARES: Final = 8
_ONE_SHOT: Final = (Kind.DATA, Kind.CHILDREN)
#: By the types with which clients check and remove watches.
KINDS: Final[dict[int, tuple[Kind, ...]]] = {
    1: (Kind.CHILDREN,),
    2: (Kind.DATA,),
    3: tuple(Kind),
    4: (Kind.PERSISTENT,),
    5: (Kind.RECURSIVE,),
}


class Watcher(Protocol):
    """A connection that holds watches."""

    session: int

    @property
    def identities(self) -> Sequence[pb.Identity]:
        """The identities that it has proved."""

    def notify(self, zxid: int, event: int, path: str) -> None:
        """Send an event."""


class Watches:
    """Watches by kind, path and watcher, each with the zxid of the state that it was set on."""

    def __init__(self, most_bytes: int) -> None:
        self._most: Final = most_bytes
        #: The memory of the watches of each watcher, and of all.
        self._bytes_of: Final[Counter[Watcher]] = Counter()
        self._bytes = 0
        self._tables: Final[dict[Kind, dict[str, dict[Watcher, int]]]] = {kind: {} for kind in Kind}
        self._of: Final[dict[Watcher, set[tuple[Kind, str]]]] = {}
        #: Events sent, and events withheld from watchers without the right to read.
        self.sent = 0
        self.withheld = 0

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, kind: Kind, path: str, watcher: Watcher, zxid: int) -> bool:
        """Watch a path for changes after a transaction; an existing watch stays.

        Returns False if this watcher, or all watchers together, hold too many.
        """
        watchers = self._tables[kind].get(path)
        if watchers is not None and watcher in watchers:
            return True
        size = _WATCH_BYTES + len(path)
        of_watcher = self._bytes_of[watcher] + size
        if self._bytes + size > self._most or of_watcher > self._most // _SHARES:
            return False
        self._bytes += size
        self._bytes_of[watcher] = of_watcher
        self._tables[kind].setdefault(path, {})[watcher] = zxid
        self._of.setdefault(watcher, set()).add((kind, path))
        return True

    def has(self, kinds: Iterable[Kind], path: str, watcher: Watcher) -> bool:
        """Return whether the watcher has a watch of any of these kinds on a path."""
        held = self._of.get(watcher, set())
        return any((kind, path) in held for kind in kinds)

    def remove(self, kinds: Iterable[Kind], path: str, watcher: Watcher) -> None:
        """Remove watches of these kinds on a path, if any."""
        for kind in kinds:
            if (kind, path) in self._of.get(watcher, ()):
                self._drop(kind, path, watcher)

    def forget(self, watcher: Watcher) -> None:
        """Remove all watches of a watcher."""
        for kind, path in list(self._of.get(watcher, ())):
            self._drop(kind, path, watcher)

    def counts(self) -> tuple[int, int]:
        """Return the numbers of watchers and of watched paths."""
        return len(self._of), len(set().union(*self._tables.values()))

    def by_session(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the session of each watcher, with the paths that it watches."""
        for watcher, held in self._of.items():
            yield watcher.session, sorted({path for _, path in held})

    def by_path(self) -> dict[str, list[int]]:
        """Return the sessions that watch each path."""
        found: dict[str, list[int]] = {}
        for session, paths in self.by_session():
            for path in paths:
                found.setdefault(path, []).append(session)
        return found

    def fire(self, zxid: int, changes: Iterable[rows.Change]) -> None:
        """Notify watchers of changes, each at most once per event."""
        if self._of:
            for change in changes:
                self._fire_all(zxid, change)

    def _fire_all(self, zxid: int, change: rows.Change) -> None:
        path = change.path
        match change.kind:
            case rows.Change.KIND_CREATED:
                self._fire(zxid, Event.CREATED, path, (Kind.DATA,), change.acl)
            case rows.Change.KIND_DELETED:
                self._fire(zxid, Event.DELETED, path, _ONE_SHOT, change.acl)
            case _:
                self._fire(zxid, Event.DATA, path, (Kind.DATA,), change.acl)
                return
        parent = parent_of(path)
        self._fire(zxid, Event.CHILDREN, parent, (Kind.CHILDREN,), change.parent_acl)

    def _fire(
        self,
        zxid: int,
        event: Event,
        path: str,
        one_shot: Iterable[Kind],
        acl: Sequence[rows.Acl],
    ) -> None:
        # In the order in which they were set, kind by kind.
        fired: dict[Watcher, None] = {}
        for kind in one_shot:
            for watcher, since in list(self._tables[kind].get(path, {}).items()):
                if since < zxid:
                    self._drop(kind, path, watcher)
                    fired[watcher] = None
        for watcher, since in self._standing(event, path):
            if since < zxid:
                fired[watcher] = None
        for watcher in fired:
            if allows(acl, watcher.identities, Perm.READ):
                self.sent += 1
                watcher.notify(zxid, event, path)
            else:
                self.withheld += 1

    def _standing(self, event: Event, path: str) -> Iterator[tuple[Watcher, int]]:
        yield from self._tables[Kind.PERSISTENT].get(path, {}).items()
        recursive = self._tables[Kind.RECURSIVE]
        if not recursive or event == Event.CHILDREN:
            return
        while True:
            yield from recursive.get(path, {}).items()
            if path == "/":
                return
            path = parent_of(path)

    def _drop(self, kind: Kind, path: str, watcher: Watcher) -> None:
        table = self._tables[kind]
        watchers = table[path]
        del watchers[watcher]
        if not watchers:
            del table[path]
        size = _WATCH_BYTES + len(path)
        self._bytes -= size
        self._bytes_of[watcher] -= size
        held = self._of[watcher]
        held.discard((kind, path))
        if not held:
            del self._of[watcher], self._bytes_of[watcher]
