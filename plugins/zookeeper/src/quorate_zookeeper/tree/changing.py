"""The tree within a transaction: nothing is written before every operation has succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from quorate.plugin import Txn, keys

from quorate_zookeeper.families import (
    ALL,
    CHILDREN,
    EPHEMERALS,
    LAST,
    NODES,
    PARENTS,
    QUOTAS,
    REAPING,
    TRANSACTIONS,
    child_key,
    ephemeral_key,
)
from quorate_zookeeper.tree import acl as lists, quotas
from quorate_zookeeper.tree.nodes import (
    BUILT_IN,
    stored_children,
    stored_children_of,
    stored_node,
    stored_nodes,
)
from quorate_zookeeper.tree.paths import LONGEST, is_valid, name_of, parent_of
from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_zookeeper.wire import jute, replies
from quorate_zookeeper.wire.codes import CREATES, Error, Op, Perm
from quorate_zookeeper.wire.requests import DataChange, Operation

_EPHEMERAL_FLAGS: Final = (1, 3)
_SEQUENTIAL_FLAGS: Final = (2, 3, 6)
_CONTAINER_FLAG: Final = 4
_TTL_FLAGS: Final = (5, 6)
_LONGEST_TTL_MS: Final = (1 << 40) - 1
#: The time from the deletion of a container's last child to its own.
CONTAINER_MS: Final = 60_000
#: Changes of one event, and their size: a row is bounded.
_AT_A_TIME: Final = 2_000
_EVENT_BYTES: Final = 512 << 10
#: Maximum size of the changes that a transaction publishes, which is the host's per command.
MOST_BYTES: Final = 16 << 20
#: At this size, reaping and expiry leave the rest to a later transaction.
ENOUGH_BYTES: Final = 8 << 20
#: The end of an event that another one of its transaction follows.
_MORE: Final = rows.Transaction(more=True).SerializeToString()
_LAST_VERSION: Final = (1 << 31) - 1


class RefusedError(Exception):
    """An operation is refused, with an error code."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.name)
        self.error: Final = error


class _Written:
    """A znode while its data changes, with the parts that all of its changes share."""

    __slots__ = ("begins", "change", "data", "ends", "middle", "node", "version")

    node: rows.Znode
    data: bytes | None
    version: int
    #: Its change, encoded.
    change: bytes
    #: Parts of the answer, before and after the version and before the number of children.
    begins: bytes
    middle: bytes
    ends: bytes


class Tree:
    """Reads each znode once, and writes each changed row once."""

    def __init__(
        self,
        txn: Txn,
        identities: Sequence[pb.Identity] = (),
        session: int = 0,
        *,
        enforces_quotas: bool = False,
    ) -> None:
        self._txn: Final = txn
        self._identities: Final = identities
        self._session: Final = session
        self._enforces_quotas: Final = enforces_quotas
        self._zxid: Final = txn.revision
        self._now_ms: Final = txn.proposed_at_ms
        self._nodes: Final[dict[str, rows.Znode | None]] = {}
        self._parents: Final[dict[str, rows.Children]] = {}
        self._changed_nodes: Final[dict[str, None]] = {}
        self._changed_parents: Final[dict[str, None]] = {}
        #: Whether each of these index rows exists in the end.
        self._names: Final[dict[bytes, bool]] = {}
        self._ephemerals: Final[dict[bytes, bool]] = {}
        self._quotas: Final[dict[bytes, bool]] = {}
        #: The reaping deadlines of these paths; None removes one.
        self._reaping: Final[dict[bytes, int | None]] = {}
        #: The net number of znodes added.
        self._more_nodes = 0
        self._has_quotas: Final = bool(txn.count(QUOTAS))
        #: The encoded changes of a `Transaction`.
        self._changes: Final[list[bytes]] = []
        #: Size of the creations and deletions; a znode holds one encoded change of its data.
        self.changes_bytes = 0

    def read_ahead(self, operations: Sequence[Operation | list[DataChange]]) -> None:
        """Read the rows that operations need in one batch, which is faster than one by one."""
        nodes: dict[str, None] = {}
        parents: dict[str, None] = {}
        for each in operations:
            if isinstance(each, list):
                changed = dict.fromkeys([path for path, _, _ in each])
                nodes |= changed
                parents |= changed
            elif "/" in each.path:
                nodes[each.path] = None
                if each.type in CREATES:
                    nodes[parent_of(each.path)] = None
                elif each.type == Op.DELETE:
                    parents[each.path] = None
        if len(nodes) > 1:
            self._nodes.update(stored_nodes(self._txn, nodes))
        if len(parents) > 1:
            self._parents.update(stored_children_of(self._txn, parents))

    # Operations; each raises `RefusedError` and returns the record that answers it.

    def apply(self, operation: Operation) -> bytes:
        """Apply an operation on top of the previous ones."""
        carry_out = _OPERATIONS.get(operation.type)
        if carry_out is None:
            raise RefusedError(Error.UNIMPLEMENTED)
        return carry_out(self, operation)

    def remove(self, path: str) -> None:
        """Delete a znode if it exists, without checks."""
        node = self.node(path)
        if node is None:
            return
        parent_path = parent_of(path)
        parent, children = self.node(parent_path), self._children_of(parent_path)
        children.pzxid = self._zxid
        children.count -= 1
        self._changed_parents[parent_path] = None
        self._names[child_key(parent_path, name_of(path))] = False
        if node.ephemeral_owner:
            self._ephemerals[ephemeral_key(node.ephemeral_owner, path)] = False
        if node.ttl_ms or node.container:
            self._reaping[path.encode()] = None
        self._use(path, -1, -len(node.data))
        if (limited := quotas.limited_path(path, quotas.LIMITS)) is not None:
            self._quotas[limited.encode()] = False
        self._nodes[path] = None
        self._parents[path] = rows.Children()
        self._changed_nodes[path] = self._changed_parents[path] = None
        self._more_nodes -= 1
        parent_acl = () if parent is None else parent.acl
        self._changed(rows.Change.KIND_DELETED, path, node.acl, parent_acl)
        if parent is not None and not children.count and (parent.container or parent.ttl_ms):
            wait_ms = parent.ttl_ms or CONTAINER_MS
            self._reaping[parent_path.encode()] = self._now_ms + wait_ms

    def node(self, path: str) -> rows.Znode | None:
        """Return the current state of a znode, or None."""
        nodes = self._nodes
        if path in nodes:
            return nodes[path]
        found = nodes[path] = stored_node(self._txn, path)
        return found

    def child_count(self, path: str) -> int:
        """Return the current number of a znode's children."""
        return self._children_of(path).count

    def commit(
        self, *, ended: Sequence[int] = (), attached: Sequence[rows.Attachment] = ()
    ) -> None:
        """Write all rows as one transaction, and publish the changes; raises `RefusedError`."""
        size = sum(map(len, self._changes))
        if size > MOST_BYTES:
            raise RefusedError(Error.MARSHALLING)
        txn = self._txn
        nodes, parents = self._nodes, self._parents
        _write(txn, NODES, {path: nodes[path] for path in self._changed_nodes})
        if self._changed_parents:
            kept = {
                path: parents[path] if nodes.get(path, True) is not None else None
                for path in self._changed_parents
            }
            _write(txn, PARENTS, kept)
        if self._more_nodes:
            count = rows.Children.FromString(txn.get(PARENTS, ALL) or b"")
            count.count += self._more_nodes
            txn.put(PARENTS, ALL, count.SerializeToString())
        indexes = (
            (CHILDREN, self._names),
            (EPHEMERALS, self._ephemerals),
            (QUOTAS, self._quotas),
        )
        for family, index in indexes:
            if not index:
                continue
            txn.put_each(family, {key: b"" for key, stays in index.items() if stays})
            for key, stays in index.items():
                if not stays:
                    txn.delete(family, key)
        for key, at_ms in self._reaping.items():
            txn.schedule(REAPING, key, at_ms)
        *earlier, changes = _events(self._changes, size)
        for each in earlier:
            txn.put(TRANSACTIONS, LAST, b"".join((*each, _MORE)))
        if ended or attached:
            of_sessions = rows.Transaction(ended_sessions=ended, attachments=attached)
            changes.append(of_sessions.SerializeToString())
        txn.put(TRANSACTIONS, LAST, b"".join(changes))

    def _create(self, operation: Operation) -> bytes:
        path, flags = operation.path, operation.flags
        if operation.type == Op.CREATE_CONTAINER:
            flags = _CONTAINER_FLAG
        elif flags == _CONTAINER_FLAG:
            flags = 0
        elif (flags in _TTL_FLAGS) != (operation.type == Op.CREATE_TTL) or not 0 <= flags < 7:
            raise RefusedError(Error.BAD_ARGUMENTS)
        if flags in _TTL_FLAGS and not 0 < operation.ttl_ms <= _LONGEST_TTL_MS:
            raise RefusedError(Error.BAD_ARGUMENTS)
        if "/" not in path or "\x00" in path:
            raise RefusedError(Error.BAD_ARGUMENTS)
        acl = self._accepted(operation.acl)
        parent_path = parent_of(path)
        parent = self._existing(parent_path)
        self._demand(parent, Perm.CREATE)
        children = self._children_of(parent_path)
        if flags in _SEQUENTIAL_FLAGS:
            number = (children.creates + (1 << 31)) % (1 << 32) - (1 << 31)
            path = f"{path}{number:010d}"
        _demand_valid(path)
        if len(path) > LONGEST:
            raise RefusedError(Error.BAD_ARGUMENTS)
        if self.node(path) is not None:
            raise RefusedError(Error.NODE_EXISTS)
        if parent.ephemeral_owner:
            raise RefusedError(Error.NO_CHILDREN_FOR_EPHEMERALS)
        txn, zxid = self._txn, self._zxid
        node = rows.Znode(
            acl=acl,
            czxid=zxid,
            mzxid=zxid,
            created_at_ms=self._now_ms,
            modified_at_ms=self._now_ms,
            ephemeral_owner=self._session if flags in _EPHEMERAL_FLAGS else 0,
            container=flags == _CONTAINER_FLAG,
            ttl_ms=operation.ttl_ms if flags in _TTL_FLAGS else 0,
        )
        if operation.data is not None:
            node.data = operation.data
        self._use(path, 1, len(node.data))
        if (limited := quotas.limited_path(path, quotas.LIMITS)) is not None:
            self._quotas[limited.encode()] = True
        elif (limited := quotas.limited_path(path, quotas.STATS)) is not None:
            usage = quotas.counted(txn, limited)
            if usage is None:
                raise RefusedError(Error.BAD_ARGUMENTS)
            node.data = str(usage).encode()
        if node.ttl_ms:
            self._reaping[path.encode()] = self._now_ms + node.ttl_ms
        if node.ephemeral_owner:
            self._ephemerals[ephemeral_key(node.ephemeral_owner, path)] = True
        children.pzxid = zxid
        children.creates += 1
        children.count += 1
        self._changed_parents[parent_path] = None
        self._names[child_key(parent_path, name_of(path))] = True
        self._nodes[path] = node
        self._changed_nodes[path] = None
        self._more_nodes += 1
        self._changed(rows.Change.KIND_CREATED, path, acl, parent.acl)
        if operation.type == Op.CREATE:
            return jute.text(path)
        return jute.text(path) + replies.stat(node, self._children_of(path))

    def _delete(self, operation: Operation) -> bytes:
        path = operation.path
        if path in BUILT_IN or not path.startswith("/"):
            raise RefusedError(Error.BAD_ARGUMENTS)
        self._demand(self._existing(parent_of(path)), Perm.DELETE)
        _match(operation.version, self._existing(path).version)
        if self.child_count(path):
            raise RefusedError(Error.NOT_EMPTY)
        self.remove(path)
        return b""

    def change_data(self, changes: Sequence[DataChange], head: bytes, results: list[bytes]) -> None:
        """Change the data of znodes; one znode may occur several times.

        Each change adds two parts to the results, which together are `head` and a stat.
        """
        if self._has_quotas and len(changes) > 1:
            for change in changes:
                self.change_data((change,), head, results)
            return
        found: dict[str, _Written] = {}
        written, happened, answer = found.get, self._changes.append, results.append
        for path, data, expected in changes:
            znode = written(path)
            if znode is None:
                znode = found[path] = self._begin_to_write(path, head)
            version = znode.version
            # As `_match`, without a call.
            if expected != version and expected != -1:
                raise RefusedError(Error.BAD_VERSION)
            size = 0 if data is None else len(data)
            if self._has_quotas:
                # Before the answer is appended: this may refuse the change.
                self._use(path, 0, size - len(znode.node.data))
            znode.version = version = version + 1 if version != _LAST_VERSION else -1 - version
            znode.data = data
            happened(znode.change)
            answer(znode.begins)
            answer(replies.end_of_stat(version, znode.middle, size, znode.ends))
        for path, znode in found.items():
            node, data = znode.node, znode.data
            if data is None:
                node.ClearField("data")
            else:
                node.data = data
            node.version = znode.version
            self._changed_nodes[path] = None

    def _begin_to_write(self, path: str, head: bytes) -> _Written:
        node = self._named(path)
        acl = node.acl
        if acl:
            self._demand(node, Perm.WRITE)
        znode = _Written()
        znode.node, znode.version = node, node.version
        node.mzxid, node.modified_at_ms = self._zxid, self._now_ms
        begins, znode.middle, znode.ends = replies.stat_parts(node, self._children_of(path))
        znode.begins = head + begins
        znode.change = _change(rows.Change.KIND_DATA, path, acl, ())
        return znode

    def _set_data(self, operation: Operation) -> bytes:
        results: list[bytes] = []
        change = operation.path, operation.data, operation.version
        self.change_data((change,), b"", results)
        return b"".join(results)

    def _set_acl(self, operation: Operation) -> bytes:
        path = operation.path
        _demand_valid(path)
        acl = self._accepted(operation.acl)
        node = self._existing(path)
        self._demand(node, Perm.ADMIN)
        _match(operation.version, node.aversion)
        del node.acl[:]
        node.acl.extend(acl)
        node.aversion = _next(node.aversion)
        self._changed_nodes[path] = None
        return replies.stat(node, self._children_of(path))

    def _check(self, operation: Operation) -> bytes:
        node = self._named(operation.path)
        self._demand(node, Perm.READ)
        _match(operation.version, node.version)
        return b""

    def _named(self, path: str) -> rows.Znode:
        node = self.node(path)
        if node is None:
            _demand_valid(path)
            raise RefusedError(Error.NO_NODE)
        return node

    def _existing(self, path: str) -> rows.Znode:
        node = self.node(path)
        if node is None:
            raise RefusedError(Error.NO_NODE)
        return node

    def _children_of(self, path: str) -> rows.Children:
        found = self._parents.get(path)
        if found is None:
            found = self._parents[path] = stored_children(self._txn, path)
        return found

    def _accepted(self, acl: Sequence[rows.Acl]) -> Sequence[rows.Acl]:
        if len(acl) == 1 and lists.is_everybodys(acl[0]):
            return ()
        found = lists.accepted(acl, self._identities)
        if found is None:
            raise RefusedError(Error.INVALID_ACL)
        return () if lists.is_open(found) else found

    def _demand(self, node: rows.Znode, perms: int) -> None:
        if node.acl and not lists.allows(node.acl, self._identities, perms):
            raise RefusedError(Error.NO_AUTH)

    def _use(self, path: str, count: int, size: int) -> None:
        """Add to the usage of the nearest quota of a path; raises `RefusedError`."""
        if not self._has_quotas:
            return
        limited = quotas.limited_ancestor(self._txn, path)
        if limited is None:
            return
        limits = self.node(quotas.file_of(limited, quotas.LIMITS))
        stats = self.node(quotas.file_of(limited, quotas.STATS))
        if limits is None or stats is None:
            return
        before = quotas.usage_of(stats)
        usage = quotas.Usage(before.znodes + count, before.bytes + size)
        grows = count > 0 or size > 0
        if self._enforces_quotas and grows and quotas.exceeds(limits, usage):
            raise RefusedError(Error.QUOTA_EXCEEDED)
        stats.data = str(usage).encode()
        self._changed_nodes[quotas.file_of(limited, quotas.STATS)] = None

    def _changed(
        self,
        kind: rows.Change.Kind,
        path: str,
        acl: Sequence[rows.Acl],
        parent_acl: Sequence[rows.Acl],
    ) -> None:
        change = _change(kind, path, acl, parent_acl)
        self._changes.append(change)
        self.changes_bytes += len(change)
        if self.changes_bytes > MOST_BYTES:
            raise RefusedError(Error.MARSHALLING)


def _events(changes: list[bytes], size: int) -> list[list[bytes]]:
    """Split changes into events; the last one may be empty."""
    if len(changes) <= _AT_A_TIME and size <= _EVENT_BYTES:
        return [changes]
    events: list[list[bytes]] = [[]]
    room = _EVENT_BYTES
    for change in changes:
        if len(events[-1]) == _AT_A_TIME or (events[-1] and len(change) > room):
            events.append([])
            room = _EVENT_BYTES
        events[-1].append(change)
        room -= len(change)
    return events


def _change(
    kind: rows.Change.Kind,
    path: str,
    acl: Sequence[rows.Acl],
    parent_acl: Sequence[rows.Acl],
) -> bytes:
    happened = rows.Transaction()
    # Arguments would take twice as long.
    change = happened.changes.add()
    change.kind, change.path = kind, path
    if acl:
        change.acl.extend(acl)
    if parent_acl:
        change.parent_acl.extend(parent_acl)
    return happened.SerializeToString()


#: The method of each operation.
_OPERATIONS: Final[Mapping[int, Callable[[Tree, Operation], bytes]]] = {
    **dict.fromkeys(CREATES, Tree._create),
    Op.DELETE: Tree._delete,
    Op.SET_DATA: Tree._set_data,
    Op.SET_ACL: Tree._set_acl,
    Op.CHECK: Tree._check,
}


def paths_of(txn: Txn, session: int, most: int) -> list[str]:
    """Return the paths of the first ephemeral znodes of a session, at most `most`."""
    start, end = keys.prefix(session)
    found = txn.scan(EPHEMERALS, start, end, limit=most)
    return [str(keys.unpack(row.key)[1]) for row in found]


def _write(txn: Txn, family: str, changed: Mapping[str, rows.Znode | rows.Children | None]) -> None:
    """Write rows by their paths, and delete the paths whose row is None."""
    kept = {
        path.encode(): row.SerializeToString() for path, row in changed.items() if row is not None
    }
    txn.put_each(family, kept)
    if len(kept) < len(changed):
        for path, row in changed.items():
            if row is None:
                txn.delete(family, path.encode())


def _demand_valid(path: str) -> None:
    if not is_valid(path):
        raise RefusedError(Error.BAD_ARGUMENTS)


def _match(expected: int, version: int) -> None:
    if expected not in (-1, version):
        raise RefusedError(Error.BAD_VERSION)


def _next(version: int) -> int:
    return -(1 << 31) if version == _LAST_VERSION else version + 1
