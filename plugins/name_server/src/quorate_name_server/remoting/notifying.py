"""Notifies members of a broker when the smallest member id changes, if a property enables it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from typing import Final

from quorate.plugin import RowEvent

from quorate_name_server.families import BROKERS
from quorate_name_server.remoting.door import CONNECT_S, Door
from quorate_name_server.remoting.headers import encode_one_way
from quorate_name_server.v1 import rows_pb2 as rows

_log = logging.getLogger(__name__)

_MIN_ID_CHANGED: Final = 905
#: The pause before the watch of brokers is reopened.
_RETRY_S: Final = 1.0
_opaques: Final = count(1)


async def notify_forever(door: Door) -> None:
    """Watch brokers and notify members until cancelled."""
    known: dict[bytes, rows.Broker] = {}
    while True:
        try:
            async for watched in door.node.watch(BROKERS):
                event = watched.event
                if watched.resync:
                    known.clear()
                if not isinstance(event, RowEvent):
                    continue
                before = known.pop(event.key, None)
                if event.value is None:
                    continue
                broker = rows.Broker.FromString(event.value)
                known[event.key] = broker
                if before is not None and door.settings.on("notifyMinBrokerIdChanged"):
                    sending = notifications(before, broker)
                    await asyncio.gather(*(send(to, _MIN_ID_CHANGED, what) for to, what in sending))
        except Exception as error:  # noqa: BLE001 - a later attempt may succeed
            _log.warning("the watch of brokers failed, reopening it: %s", error)
        await asyncio.sleep(_RETRY_S)


def notifications(before: rows.Broker, broker: rows.Broker) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address and the fields of each notification of a change; members are by id."""
    if not before.members or not broker.members:
        return
    old, new = before.members[0], broker.members[0]
    if old.id == new.id:
        return
    fields = {"minBrokerId": str(new.id), "minBrokerAddr": new.address}
    if new.id < old.id:
        fields["haBrokerAddr"] = new.ha_address
        notified = broker.members[1:]
    elif broker.enable_acting_master:
        fields["offlineBrokerAddr"] = old.address
        notified = broker.members[:]
    else:
        return
    for member in notified:
        yield member.address, fields


async def send(address: str, code: int, fields: Mapping[str, str], body: bytes = b"") -> None:
    """Send a one-way request to a broker; an unreachable broker is ignored."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(encode_one_way(code, fields, next(_opaques), body))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
