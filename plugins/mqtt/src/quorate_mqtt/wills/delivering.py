"""The states of a client's will: it is stored, it waits, it is discarded, or a broker publishes it.

Sessions choose the state; every function takes the key of the session.
"""

from typing import Final

from quorate.plugin import Txn, keys

from quorate_mqtt.activity import Counts, count
from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.duties import index
from quorate_mqtt.sessions.families import DELAY, DELIVERIES, WILLS
from quorate_mqtt.v1.wills_pb2 import Will, WillDelivery

#: The sequence of the deliveries.
IDS: Final = "mqtt.will_deliveries"
_MS: Final = 1_000


def keep(txn: Txn, client: bytes, will: Will) -> None:
    """Store the will of a client that has connected, in place of an earlier one."""
    txn.put(WILLS, client, will.SerializeToString(deterministic=True))


def discard(txn: Txn, client: bytes) -> None:
    """Delete a will, waiting or not."""
    txn.delete(WILLS, client)
    txn.schedule(DELAY, client, None)


def wait(txn: Txn, client: bytes, expiry_interval_s: int, live_brokers: LiveBrokers) -> None:
    """Delay a will by its interval or the session's, the shorter; deliver it at once for zero."""
    delay_s = min(_kept(txn, client).delay_interval_s, expiry_interval_s)
    if delay_s == 0:
        deliver(txn, client, live_brokers)
    else:
        txn.schedule(DELAY, client, txn.proposed_at_ms + delay_s * _MS)


def replace(txn: Txn, client: bytes, live_brokers: LiveBrokers) -> None:
    """Publish the will of a connection that is taken over, or discard it if it has a delay."""
    if _kept(txn, client).delay_interval_s == 0:
        deliver(txn, client, live_brokers)
    else:
        discard(txn, client)


def deliver(txn: Txn, client: bytes, live_brokers: LiveBrokers) -> None:
    """Assign the will, if any, to a broker that publishes it."""
    value = txn.get(WILLS, client)
    if value is None:
        return
    number = txn.next_id(IDS)
    delivery = WillDelivery(id=number, due_at_ms=txn.proposed_at_ms, will=Will.FromString(value))
    assign(txn, client + keys.pack(number), delivery, live_brokers)
    count(txn, Counts(wills_due=1))
    discard(txn, client)


def assign(txn: Txn, key: bytes, delivery: WillDelivery, live_brokers: LiveBrokers) -> None:
    """Assign a delivery to a live broker, in place of its former broker."""
    index.release(txn, delivery.assignee_epoch, DELIVERIES, key)
    serving = live_brokers.serving()
    if serving:
        broker = serving[delivery.id % len(serving)]
        delivery.assignee, delivery.assignee_epoch = broker.name, broker.epoch
        delivery.assigned_at_ms = txn.proposed_at_ms
        delivery.assignments += 1
    else:
        delivery.assignee, delivery.assignee_epoch = "", 0
    txn.put(DELIVERIES, key, delivery.SerializeToString(deterministic=True))
    index.entrust(txn, delivery.assignee_epoch, DELIVERIES, key)


def finish(txn: Txn, key: bytes) -> bool:
    """Delete a delivery; return whether it existed."""
    value = txn.get(DELIVERIES, key)
    if value is None:
        return False
    index.release(txn, WillDelivery.FromString(value).assignee_epoch, DELIVERIES, key)
    txn.delete(DELIVERIES, key)
    return True


def _kept(txn: Txn, client: bytes) -> Will:
    return Will.FromString(txn.get(WILLS, client) or b"")
