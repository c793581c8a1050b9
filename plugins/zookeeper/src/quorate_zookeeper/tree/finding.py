"""What is read of the tree, as records of the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorate.plugin import Reader, keys

from quorate_zookeeper.families import EPHEMERALS, SESSIONS
from quorate_zookeeper.tree import acl as lists
from quorate_zookeeper.tree.nodes import (
    child_names,
    count_descendants,
    last_zxid,
    node_count,
    stored_children,
    stored_node,
)
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire import jute, replies
from quorate_zookeeper.wire.codes import Error, Op, Perm


def find(reader: Reader, query: asked.Find) -> Iterator[asked.Found]:
    """Answer lookups, all from one state of the tree."""
    found = asked.Found(zxid=last_zxid(reader))
    for lookup in query.lookups:
        if lookup.type == Op.GET_EPHEMERALS:
            body = _ephemerals(reader, query.session, lookup.path)
            found.results.add(body=body)
        else:
            found.results.append(_look_up(reader, lookup, query.identities))
    yield found


def count_tree(reader: Reader, _: asked.CountTree) -> Iterator[asked.Figures]:
    """Count what operators ask for."""
    yield asked.Figures(
        zxid=last_zxid(reader),
        znodes=node_count(reader),
        ephemerals=reader.count(EPHEMERALS),
        sessions=reader.count(SESSIONS),
    )


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
        return asked.Result(body=jute.int32(count_descendants(reader, path)))
    body = b""
    if type_ == Op.GET_DATA:
        body = jute.buffer(node.data if node.HasField("data") else None)
    elif type_ == Op.GET_ACL:
        body = replies.acl(list(lists.shown(node.acl, identities)))
    elif type_ in (Op.GET_CHILDREN, Op.GET_CHILDREN2):
        body = jute.vector(map(jute.text, child_names(reader, path)))
    if type_ != Op.GET_CHILDREN:
        body += replies.stat(node, stored_children(reader, path))
    return asked.Result(body=body)


def _ephemerals(reader: Reader, session: int, prefix: str) -> bytes:
    start, end = keys.prefix(session)
    if prefix not in ("", "/"):
        start, end = keys.opening(session, prefix)
    found: list[bytes] = []
    for row in reader.scan(EPHEMERALS, start, end, limit=1_000_000):
        found.append(jute.text(str(keys.unpack(row.key)[1])))
    return jute.vector(found)
