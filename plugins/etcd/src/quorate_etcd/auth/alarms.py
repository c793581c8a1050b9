"""Alarms of a store: one without space takes no more pairs."""

from __future__ import annotations

from quorate.plugin import Txn

from quorate_etcd.auth.rows import GUARDS, guard_of
from quorate_etcd.families import store_key
from quorate_etcd.store.view import View
from quorate_etcd.v1 import guard_pb2 as pb


def set_alarm(txn: Txn, command: pb.SetAlarm) -> pb.Alarmed:
    """Raise an alarm, or end it; doing so again changes nothing, and is answered alike."""
    guard = guard_of(txn, command.store)
    alarms = [each for each in guard.alarms if each != command.alarm]
    if command.active:
        alarms.append(command.alarm)
    changed = len(alarms) != len(guard.alarms)
    if changed:
        del guard.alarms[:]
        guard.alarms.extend(alarms)
        txn.put(GUARDS, store_key(command.store), guard.SerializeToString())
    answered = [command.alarm] if changed or command.active else []
    return pb.Alarmed(alarms=answered, revision=View(txn, command.store).revision)
