"""Reads of the tree, answered as records of the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from quorate.plugin import Reader, keys

from quorate_zookeeper.families import EPHEMERALS, NODES, SESSIONS
from quorate_zookeeper.tree import acl as lists
from quorate_zookeeper.tree.nodes import (
    child_names,
    count_descendants,
    last_zxid,
    node_count,
    stored_children,
    stored_node,
)
from quorate_zookeeper.tree.paths import descendants
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire import jute, replies
from quorate_zookeeper.wire.codes import Error, Op, Perm

#: Maximum size of the results of one query: the host answers 16 MiB. A result that does not fit
#: beside the others is left out, and one that is larger by itself is refused.
MOST_BYTES: Final = (16 << 20) - (1 << 16)
#: Znodes that are weighed to estimate the size of the tree, fewer when they are large.
_WEIGHED: Final = 500
_WEIGHED_BYTES: Final = 1 << 20
_WEIGHED_AT_A_TIME: Final = 10
#: Approximate overhead of a result beside its bytes.
_RESULT_BYTES: Final = 16


def find(reader: Reader, query: asked.Find) -> Iterator[asked.Found]:
    """Answer lookups, all from one state of the tree; lookups at the end may be left out."""
    found, room = asked.Found(zxid=last_zxid(reader)), MOST_BYTES
    for lookup in query.lookups:
        if lookup.type == Op.GET_EPHEMERALS:
            result = asked.Result(body=_ephemerals(reader, query.session, lookup.path))
        else:
            result = _look_up(reader, lookup, query.identities)
        size = len(result.body) + len(result.page.names) + _RESULT_BYTES
        if size > MOST_BYTES:
            result, size = asked.Result(error=Error.MARSHALLING), _RESULT_BYTES
        room -= size
        if room < 0:
            break
        found.results.append(result)
    yield found


def count_tree(reader: Reader, _: asked.CountTree) -> Iterator[asked.Figures]:
    """Count znodes, bytes, ephemerals and sessions for operators."""
    znodes = node_count(reader)
    weighed, size = _weighed(reader)
    yield asked.Figures(
        zxid=last_zxid(reader),
        znodes=znodes,
        bytes=size if weighed >= znodes else size * znodes // max(weighed, 1),
        ephemerals=reader.count(EPHEMERALS),
        sessions=reader.count(SESSIONS),
    )


def _weighed(reader: Reader) -> tuple[int, int]:
    """Return the number of sampled znodes, and the size of their rows."""
    count = size = 0
    start, end = descendants("/")
    while count < _WEIGHED and size < _WEIGHED_BYTES:
        found = list(reader.scan(NODES, start, end, limit=_WEIGHED_AT_A_TIME))
        if not found:
            break
        count += len(found)
        size += sum(len(row.key) + len(row.value) for row in found)
        start = keys.successor(found[-1].key)
    return count, size


def _look_up(
    reader: Reader, lookup: asked.Lookup, identities: Sequence[pb.Identity]
) -> asked.Result:
    type_, path = lookup.type, lookup.path
    node = stored_node(reader, path)
    if node is None:
        return asked.Result(error=Error.NO_NODE)
    needed = Perm.READ | Perm.ADMIN if type_ == Op.GET_ACL else Perm.READ
    if type_ and node.acl and not lists.allows(node.acl, identities, needed):
        return asked.Result(error=Error.NO_AUTH)
    if type_ == Op.COUNT_DESCENDANTS:
        return _descendants(reader, lookup)
    body = b""
    if type_ == Op.GET_DATA:
        body = jute.buffer(node.data if node.HasField("data") else None)
    elif type_ == Op.GET_ACL:
        body = replies.acl(list(lists.shown(node.acl, identities)))
    elif type_ in (Op.GET_CHILDREN, Op.GET_CHILDREN2):
        names, last = _names(reader, lookup)
        if lookup.after or (last and lookup.page_bytes):
            page = asked.Page(count=len(names), names=b"".join(names), last=last)
            stat = replies.stat(node, stored_children(reader, path))
            return asked.Result(body=stat, page=page)
        body = jute.vector(names)
    if type_ != Op.GET_CHILDREN:
        body += replies.stat(node, stored_children(reader, path))
    return asked.Result(body=body)


def _descendants(reader: Reader, lookup: asked.Lookup) -> asked.Result:
    """Return the number of descendants of a znode, or of a page of them."""
    count, last = count_descendants(reader, lookup.path, lookup.after_key)
    if last and lookup.page_bytes:
        return asked.Result(page=asked.Page(count=count, last_key=last))
    while last:
        more, last = count_descendants(reader, lookup.path, last)
        count += more
    return asked.Result(body=jute.int32(count))


def _names(reader: Reader, lookup: asked.Lookup) -> tuple[list[bytes], str]:
    """Return names of children as records, and the last name if more follow."""
    names: list[bytes] = []
    size, last = 0, ""
    for some in child_names(reader, lookup.path, lookup.after):
        # Names beyond the size of a reply are not collected.
        if size > MOST_BYTES or 0 < lookup.page_bytes <= size:
            return names, last
        records = [jute.text(name) for name in some]
        names += records
        size += sum(map(len, records))
        last = some[-1] if some else ""
    return names, ""


def _ephemerals(reader: Reader, session: int, prefix: str) -> bytes:
    start, end = keys.prefix(session)
    if prefix not in ("", "/"):
        start, end = keys.opening(session, prefix)
    found: list[bytes] = []
    room = MOST_BYTES
    for row in reader.scan(EPHEMERALS, start, end):
        found.append(jute.text(str(keys.unpack(row.key)[1])))
        room -= len(found[-1])
        if room < 0:
            break
    return jute.vector(found)
