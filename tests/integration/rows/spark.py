"""The rows of bulk loads."""

from __future__ import annotations

from typing import Final

from quorate_spark.v1.service_pb2 import GetLoadRequest, ListLoadsRequest

from tests.integration.rows.row import TEXT, Row, by_method

LOADS: Final = {
    "GetLoad": Row(
        empty="load_id",
        large=((GetLoadRequest(load_id=TEXT), "load_id"),),
        wrong=((GetLoadRequest(load_id=" "), "load_id"),),
    ),
    "ListLoads": Row(
        empty=None,
        large=(
            (ListLoadsRequest(page_token=TEXT), "page_token"),
            # There is no page of so many.
            (ListLoadsRequest(page_size=1_001), None),
        ),
    ),
}

ROWS: Final = by_method({"quorate_spark.v1.LoadService": LOADS})
