"""The rows of the reads of znodes."""

from __future__ import annotations

from typing import Final

from quorate_zookeeper.v1.tree_pb2 import GetZnode, ListZnodes

from tests.integration.rows.row import NOT_FOUND, TEXT, Row, by_method

TREE: Final = {
    "Get": Row(
        empty="path",
        large=((GetZnode(path=TEXT), "path"), (GetZnode(path=f"/{TEXT}"), NOT_FOUND)),
        wrong=((GetZnode(path="/a//b"), "path"),),
    ),
    "List": Row(
        empty="path",
        large=(
            (ListZnodes(path="/", after=TEXT), None),
            # There is no page of so many.
            (ListZnodes(path="/", page_size=1_001), None),
        ),
        wrong=((ListZnodes(path="/a/"), "path"),),
    ),
}

ROWS: Final = by_method({"quorate_zookeeper.v1.TreeService": TREE})
