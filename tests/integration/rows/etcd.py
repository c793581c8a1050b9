"""The rows of the stores of etcd's API: the node of these tests serves none."""

from __future__ import annotations

from typing import Final

from quorate_etcd.v1.commands_pb2 import Leap

from tests.integration.rows.row import TEXT, Row, by_method

STORES: Final = {
    "ListStores": Row(empty=None),
    "LeapStore": Row(
        empty="store",
        large=((Leap(store=TEXT, revision=1), "store"),),
        wrong=((Leap(store="x", revision=-1), "store"),),
    ),
}

ROWS: Final = by_method({"quorate_etcd.v1.StoreService": STORES})
