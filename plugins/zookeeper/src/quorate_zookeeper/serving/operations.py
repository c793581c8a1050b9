"""The handler of each operation that is not a write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from quorate_zookeeper.serving import identities, reading, watch_requests
from quorate_zookeeper.wire.codes import Error, Op
from quorate_zookeeper.wire.jute import Record

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection


async def _refuse_reconfig(connection: Connection, xid: int, op: int, record: Record) -> None:
    connection.reply(xid, 0, Error.RECONFIG_DISABLED)


#: Each gets the connection, the request's id, the operation and its record.
OPERATIONS: Final[dict[int, Callable[[Connection, int, int, Record], Awaitable[None]]]] = {
    Op.EXISTS: reading.read,
    Op.GET_DATA: reading.read,
    Op.GET_ACL: reading.read,
    Op.GET_CHILDREN: reading.read,
    Op.GET_CHILDREN2: reading.read,
    Op.GET_EPHEMERALS: reading.read,
    Op.COUNT_DESCENDANTS: reading.read,
    Op.MULTI_READ: reading.read_many,
    Op.SYNC: reading.sync,
    Op.RECONFIG: _refuse_reconfig,
    Op.CHECK_WATCHES: watch_requests.check_watches,
    Op.REMOVE_WATCHES: watch_requests.check_watches,
    Op.SET_WATCHES: watch_requests.set_watches,
    Op.SET_WATCHES2: watch_requests.set_watches,
    Op.ADD_WATCH: watch_requests.add_watch,
    Op.AUTH: identities.authenticate,
    Op.SASL: identities.refuse_sasl,
    Op.WHO_AM_I: identities.who_am_i,
}
