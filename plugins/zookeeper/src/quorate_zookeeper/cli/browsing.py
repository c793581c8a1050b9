"""The commands `quorate zookeeper ls` and `stat`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import click
from quorate.plugin import Console
from quorate.plugin.console import first_rows, limit_option, stale_option, time_text

from quorate_zookeeper.tree.paths import name_of
from quorate_zookeeper.v1 import rows_pb2 as rows, tree_pb2 as tree
from quorate_zookeeper.wire.codes import Perm

Row = dict[str, object]

_SERVICE: Final = "/quorate_zookeeper.v1.TreeService"
_LARGEST_PAGE: Final = 1_000
#: How many of the znodes above one are shown, the nearest ones.
_ABOVE: Final = 32
#: The rights of an access control list, as ZooKeeper's own command line writes them.
_RIGHTS: Final = {
    Perm.CREATE: "c",
    Perm.DELETE: "d",
    Perm.READ: "r",
    Perm.WRITE: "w",
    Perm.ADMIN: "a",
}


@click.command("ls")
@click.argument("path", default="/")
@click.option("--after", default="", help="Only children whose names or paths follow this one.")
@limit_option
@stale_option
@click.pass_obj
def list_children(console: Console, path: str, after: str, limit: int, stale: bool) -> None:
    """List the children of the znode PATH, by default of the root."""
    children = _children(console, path, name_of(f"/{after}"), limit, stale=stale)
    console.print(map(_row, first_rows(children, limit)))


@click.command("stat")
@click.argument("path")
@click.option("--above", is_flag=True, help="Also list the paths of the znodes above it.")
@stale_option
@click.pass_obj
def show_znode(console: Console, path: str, above: bool, stale: bool) -> None:
    """Show the znode PATH: its data, its counts and its access control list."""
    request = tree.GetZnode(path=path, stale=stale)
    view = console.client().call(f"{_SERVICE}/Get", request, tree.ZnodeView, read=True)
    found = [{"path": each} for each in _above(path)] if above else []
    console.print([*found, {**_row(view), **_details(view)}])


def _children(
    console: Console, path: str, after: str, limit: int, *, stale: bool
) -> Iterator[tree.ZnodeView]:
    # One more says whether there are more.
    request = tree.ListZnodes(
        path=path, after=after, page_size=min(limit + 1, _LARGEST_PAGE), stale=stale
    )
    while True:
        page = console.client().call(
            f"{_SERVICE}/List", request, tree.ListZnodesResponse, read=True
        )
        if page.withheld:
            raise click.ClickException("its access control list keeps its children from others")
        yield from page.znodes
        request.after = page.next_after
        if not request.after:
            return


def _row(view: tree.ZnodeView) -> Row:
    node = view.znode
    return {
        "path": view.path,
        "children": view.children.count,
        "bytes": view.data_bytes,
        "version": node.version,
        "modified": time_text(node.modified_at_ms),
        "session": f"{node.ephemeral_owner:#x}" if node.ephemeral_owner else "",
        "kind": _kind(node),
        "withheld": view.withheld,
    }


def _details(view: tree.ZnodeView) -> Row:
    node = view.znode
    return {
        "data": node.data if node.HasField("data") else None,
        "acl": "" if view.withheld else _acl(node),
        "created": time_text(node.created_at_ms),
        "czxid": node.czxid,
        "mzxid": node.mzxid,
        "pzxid": max(view.children.pzxid, node.czxid),
        "aversion": node.aversion,
    }


def _kind(node: rows.Znode) -> str:
    if node.ephemeral_owner:
        return "ephemeral"
    if node.container:
        return "container"
    return f"lives {node.ttl_ms:,} ms" if node.ttl_ms else "persistent"


def _acl(node: rows.Znode) -> str:
    if not node.acl:
        return "world:anyone:cdrwa"
    return ", ".join(
        f"{each.scheme}:{each.id}:"
        + "".join(letter for perm, letter in _RIGHTS.items() if each.perms & perm)
        for each in node.acl
    )


def _above(path: str) -> list[str]:
    """Return the paths of the nearest znodes above one, the root first."""
    if path == "/":
        return []
    parts = path[1:].split("/")[:-1]
    return ["/", *accumulate(f"/{part}" for part in parts)][-_ABOVE:]
