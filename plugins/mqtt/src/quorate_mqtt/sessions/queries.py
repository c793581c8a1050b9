"""The reads: they run where the sessions are."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.sessions import ledger
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.v1 import sessions_pb2 as pb

#: Rows that are looked at for one page: few enough not to keep others waiting.
MOST: Final = 2_000


def find_orphans(reader: Reader, query: pb.FindOrphans) -> Iterator[pb.OrphanPage]:
    """Yield the sessions that are connected to brokers that are gone, as far as it looked.

    As long as no broker with clients is gone, no session is looked at.
    """
    live_brokers = LiveBrokers(reader)
    gone = {epoch for epoch, _ in ledger.connections(reader) if not live_brokers.lives(epoch)}
    if not gone:
        return
    limit = min(query.limit or MOST, MOST)
    _, end = keys.prefix()
    rows = list(reader.scan(SESSIONS, keys.successor(query.after), end, limit=limit))
    page = pb.OrphanPage(finished=len(rows) < limit)
    for row in rows:
        session = pb.Session.FromString(row.value)
        if not session.disconnected_at_ms and session.broker_epoch in gone:
            page.keys.append(row.key)
    if rows:
        page.reached = rows[-1].key
    yield page


def order_of_page(page: pb.OrphanPage) -> bytes:
    """Return the key by which the pages of several shards are merged."""
    return page.reached


def count_connections(reader: Reader, _: pb.CountConnections) -> Iterator[pb.BrokerConnections]:
    """Yield how many clients each broker serves of this shard."""
    for epoch, count in ledger.connections(reader):
        yield pb.BrokerConnections(broker_epoch=epoch, connections=count)


def order_of_count(count: pb.BrokerConnections) -> bytes:
    """Return the key by which the counts of several shards are merged."""
    return keys.pack(count.broker_epoch)
