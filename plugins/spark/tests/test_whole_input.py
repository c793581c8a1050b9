"""Rows that end because Spark has died are no whole partition."""

from __future__ import annotations

import socket

import pytest
from quorate_spark.source.errors import SourceError
from quorate_spark.source.whole_input import connections, whole


def test_rows_end_while_spark_is_there() -> None:
    near, far = socket.socketpair()
    with near, far:
        assert near.fileno() in connections()
        far.send(b"what comes behind the rows")
        assert list(whole(iter([1, 2]), [near.fileno()])) == [1, 2]


@pytest.mark.parametrize("unread", [b"", b"rows"])
def test_rows_that_end_with_spark_are_refused(unread: bytes) -> None:
    near, far = socket.socketpair()
    with near:
        far.send(unread)
        far.close()
        rows = whole(iter([1, 2]), [near.fileno()])

        assert [next(rows), next(rows)] == [1, 2]
        with pytest.raises(SourceError, match="before it had given all rows"):
            next(rows)
        assert near.fileno() not in connections()
