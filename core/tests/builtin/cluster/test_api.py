from __future__ import annotations

import pytest
from quorate.builtin.cluster import api
from quorate.builtin.cluster.apply import register, unregister
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate.v1.cluster_pb2 import RegisterBroker, UnregisterBroker


def _epoch(txn: MemoryTxn, name: str, *roles: str) -> int:
    return register(txn, RegisterBroker(name=name, cluster_name="north", roles=roles)).epoch


def test_brokers_are_found_by_their_roles(txn: MemoryTxn) -> None:
    ada, ben = _epoch(txn, "ada", "mqtt", "engine"), _epoch(txn, "ben", "mqtt")

    assert [each.name for each in api.registered(txn)] == ["ada", "ben"]
    assert [each.name for each in api.registered(txn, "engine")] == ["ada"]
    assert [api.epoch_of(txn, name) for name in ("ada", "ben", "cleo")] == [ada, ben, 0]
    assert [api.epoch_of(txn, name, "engine") for name in ("ada", "ben")] == [ada, 0]


def test_the_registration_that_stands_passes_the_fence(txn: MemoryTxn) -> None:
    epoch = _epoch(txn, "ada", "mqtt")

    api.fence(txn, "ada", epoch, ended="it is over")
    api.fence(txn, "ada", epoch, "mqtt", ended="it is over")


def test_a_registration_that_has_ended_is_told_so(txn: MemoryTxn) -> None:
    first, second = _epoch(txn, "ada", "mqtt"), _epoch(txn, "ada", "mqtt")

    with pytest.raises(Rejected, match="FENCED: it is over"):
        api.fence(txn, "ada", first, ended="it is over")
    unregister(txn, UnregisterBroker(name="ada", epoch=second))
    later = _epoch(txn, "ben")
    with pytest.raises(Rejected, match="FENCED: it is over"):
        api.fence(txn, "ada", second, "mqtt", ended="it is over")
    with pytest.raises(Rejected, match="BROKER_UNKNOWN: there is no broker ada"):
        api.fence(txn, "ada", later, ended="it is over")


def test_one_that_is_not_known_here_yet_is_asked_for_again(txn: MemoryTxn) -> None:
    epoch = _epoch(txn, "ada", "mqtt")

    with pytest.raises(Rejected, match=f"no broker cleo with epoch {epoch + 1}: register it"):
        api.fence(txn, "cleo", epoch + 1, ended="it is over")
    with pytest.raises(Rejected, match=f"no broker ada with role 'engine' and epoch {epoch}: "):
        api.fence(txn, "ada", epoch, "engine", ended="it is over")
