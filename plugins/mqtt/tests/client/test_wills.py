"""A broker is given the wills that are its own to publish, each once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import cast

from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_mqtt.client.wills import Wills
from quorate_mqtt.v1.wills_pb2 import WillDelivery

MINE, FOREIGN = 7, 8


def row(number: int, assignee_epoch: int, kind: ChangeKind = ChangeKind.PUT) -> WatchedChange:
    delivery = WillDelivery(id=number, assignee_epoch=assignee_epoch)
    value = b"" if kind is ChangeKind.DELETED else delivery.SerializeToString()
    key = keys.pack("north", f"c{number}", number)
    return WatchedChange(kind=kind, family="mqtt.will_deliveries", key=key, value=value)


class Watching:
    """Stands in for a client whose watch gives some changes and ends."""

    def __init__(self, *changes: WatchedChange) -> None:
        self._changes = changes

    def records(self, resource: object) -> None:
        """Nothing is written or read."""

    async def watch(self, family: str) -> AsyncGenerator[WatchedChange, None]:
        assert family == "mqtt.will_deliveries"
        for each in self._changes:
            yield each


async def test_each_own_will_is_given_once() -> None:
    changes = Watching(
        row(1, MINE, ChangeKind.ROW),
        row(2, FOREIGN, ChangeKind.ROW),
        row(3, 0),
        row(1, MINE),
        row(3, MINE),
        WatchedChange(kind=ChangeKind.RESYNC),
        row(1, MINE, ChangeKind.ROW),
        row(3, MINE, ChangeKind.ROW),
        row(1, MINE, ChangeKind.DELETED),
        row(2, MINE),
    )

    given = [each async for each in Wills(cast(AsyncClient, changes)).due(MINE)]

    assert [(each.tenant, each.client_id, each.delivery.id) for each in given] == [
        ("north", "c1", 1),
        ("north", "c3", 3),
        ("north", "c2", 2),
    ]
