"""Reads of the tree for operators: a znode, and its children page by page."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Access, Consistency, GrpcService, Invalid, NodeApi, Reader, Rejected
from quorate.plugin.advanced import CallContext

from quorate_zookeeper.tree import acl as lists
from quorate_zookeeper.tree.nodes import (
    BUILT_IN,
    child_names,
    stored_children,
    stored_children_of,
    stored_node,
    stored_nodes,
)
from quorate_zookeeper.tree.paths import is_valid
from quorate_zookeeper.v1 import rows_pb2 as rows, tree_pb2 as tree
from quorate_zookeeper.wire.codes import Perm

M = TypeVar("M", bound=Message)

_PAGE: Final = 100
_LARGEST_PAGE: Final = 1_000
#: A page ends after the znode with which so many bytes of data were read.
_PAGE_BYTES: Final = 4 << 20
#: Znodes read at a time; each may have a megabyte.
_AT_A_TIME: Final = 10
#: Maximum length of a path in a refusal.
_SHOWN: Final = 200


def get_znode(reader: Reader, query: tree.GetZnode) -> Iterator[tree.ZnodeView]:
    """Yield a znode, if there is one."""
    node = stored_node(reader, query.path)
    if node is not None:
        yield _view(query.path, node, stored_children(reader, query.path))


def list_znodes(reader: Reader, query: tree.ListZnodes) -> Iterator[tree.ListZnodesResponse]:
    """Yield a page of the children of a znode, if there is such a znode."""
    parent = stored_node(reader, query.path)
    if parent is None:
        return
    if _is_withheld(parent):
        yield tree.ListZnodesResponse(withheld=True)
        return
    found = tree.ListZnodesResponse()
    limit, room = min(query.page_size or _PAGE, _LARGEST_PAGE), _PAGE_BYTES
    names = _names(reader, query.path, query.after)
    base = query.path.rstrip("/")
    name = ""
    while room > 0 and (left := limit - len(found.znodes)):
        some = list(islice(names, min(_AT_A_TIME, left)))
        if not some:
            break
        paths = [f"{base}/{name}" for name in some]
        children = stored_children_of(reader, paths)
        for path, node in stored_nodes(reader, paths).items():
            if node is not None:
                room -= len(node.data)
                view = _view(path, node, children[path])
                view.znode.ClearField("data")
                found.znodes.append(view)
        name = some[-1]
    if next(names, None) is not None:
        found.next_after = name
    yield found


class Tree:
    """Serves the reads of operators on every node."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Get(self, request: tree.GetZnode, context: CallContext) -> tree.ZnodeView:
        """Return a znode with its data."""
        return await self._read(request, tree.ZnodeView)

    async def List(self, request: tree.ListZnodes, context: CallContext) -> tree.ListZnodesResponse:
        """Return a page of the children of a znode."""
        return await self._read(request, tree.ListZnodesResponse)

    async def _read(self, request: tree.GetZnode | tree.ListZnodes, reply: type[M]) -> M:
        if not is_valid(request.path):
            raise Invalid("path", f"{request.path[:_SHOWN]!r} is no path of a znode")
        consistency: Consistency = "stale" if request.stale else "linearizable"
        found = await self._node.read(request, reply, consistency=consistency)
        if not found.rows:
            raise Rejected("NOT_FOUND", f"there is no znode {request.path[:_SHOWN]}")
        return found.rows[0]


SERVICE: Final = GrpcService(
    service=tree.DESCRIPTOR.services_by_name["TreeService"],
    servicer=Tree,
    access=dict.fromkeys(("Get", "List"), Access(right="read", key="path")),
)


def _names(reader: Reader, path: str, after: str) -> Iterator[str]:
    """Yield the names of children that follow a name, in their order."""
    built_in = BUILT_IN.get(path, ())
    stored = chain.from_iterable(child_names(reader, path, after))
    # The first names of all are the built-in ones.
    others = (each for each in stored if each not in built_in)
    return heapq.merge(sorted(each for each in built_in if each > after), others)


def _view(path: str, node: rows.Znode, children: rows.Children) -> tree.ZnodeView:
    view = tree.ZnodeView(path=path, znode=node, children=children, data_bytes=len(node.data))
    view.withheld = _is_withheld(node)
    if view.withheld:
        view.znode.ClearField("data")
        del view.znode.acl[:]
    elif node.acl:
        del view.znode.acl[:]
        view.znode.acl.extend(lists.shown(node.acl, ()))
    return view


def _is_withheld(node: rows.Znode) -> bool:
    return not lists.allows(node.acl, (), Perm.READ)
