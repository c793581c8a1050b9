"""Loads for Python programs: `Loads(q)` over a `Client`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import Client

from quorate_spark.v1 import commands_pb2 as pb, service_pb2 as requests
from quorate_spark.v1.queries_pb2 import LoadView
from quorate_spark.v1.rows_pb2 import Load

_SERVICE: Final = "/quorate_spark.v1.LoadService"


class Loads:
    """The bulk loads of a cluster."""

    def __init__(self, client: Client) -> None:
        self._client: Final = client

    def get(self, load_id: str) -> LoadView | None:
        """Return a load with its parts, if it exists."""
        request = requests.GetLoadRequest(load_id=load_id)
        found = self._client.call(
            f"{_SERVICE}/GetLoad", request, requests.GetLoadResponse, read=True
        )
        return found.load if found.HasField("load") else None

    def all(self) -> Iterator[LoadView]:
        """Yield every load in the order of the load ids, without its parts."""
        token = ""
        while True:
            request = requests.ListLoadsRequest(page_token=token)
            page = self._client.call(
                f"{_SERVICE}/ListLoads", request, requests.ListLoadsResponse, read=True
            )
            yield from page.loads
            token = page.next_page_token
            if not token:
                return

    def begin_abort(self, load_id: str) -> Load:
        """Begin to abort a load: no further part begins."""
        return self._client.execute(pb.BeginAbortCommand(load_id=load_id), Load)

    def end_abort(self, load_id: str, removed: int) -> Load:
        """Record that the rows of a load were removed."""
        return self._client.execute(pb.EndAbortCommand(load_id=load_id, removed=removed), Load)

    def forget(self, load_id: str) -> None:
        """Forget a load with its parts, but not its sessions."""
        self._client.execute(pb.ForgetLoadCommand(load_id=load_id), Empty)
