from __future__ import annotations

import pytest
from quorate.builtin.cluster import brokers
from quorate.builtin.cluster.apply import register
from quorate.testing import MemoryTxn
from quorate.v1.cluster_pb2 import ListBrokers, RegisterBroker

BROKERS = [
    ("ada", "north", ["mqtt"], {"zone": "a", "rack": "1"}),
    ("adam", "north", ["engine", "mqtt"], {"zone": "b"}),
    ("ben", "south", ["mqtt"], {"zone": "a"}),
    ("cleo", "north", [], {}),
]


@pytest.fixture
def shard(txn: MemoryTxn) -> MemoryTxn:
    for name, cluster, roles, labels in reversed(BROKERS):
        register(txn, RegisterBroker(name=name, cluster_name=cluster, roles=roles, labels=labels))
    return txn


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (ListBrokers(), ["ada", "adam", "ben", "cleo"]),
        (ListBrokers(cluster_name="north"), ["ada", "adam", "cleo"]),
        (ListBrokers(cluster_name="nor"), []),
        (ListBrokers(role="mqtt"), ["ada", "adam", "ben"]),
        (ListBrokers(role="engine"), ["adam"]),
        (ListBrokers(labels={"zone": "a"}), ["ada", "ben"]),
        (ListBrokers(labels={"zone": "a", "rack": "1"}), ["ada"]),
        (ListBrokers(labels={"zone": ""}), []),
        (ListBrokers(cluster_name="north", role="mqtt", labels={"zone": "b"}), ["adam"]),
        (ListBrokers(after_name="ada"), ["adam", "ben", "cleo"]),
        (ListBrokers(after_name="b"), ["ben", "cleo"]),
        (ListBrokers(after_name="zoe"), []),
    ],
)
def test_a_list_holds_who_fits_in_the_order_of_names(
    shard: MemoryTxn, query: ListBrokers, names: list[str]
) -> None:
    assert [broker.name for broker in brokers.list_brokers(shard, query)] == names


@pytest.mark.parametrize("limit", [1, 2])
def test_a_list_ends_at_its_limit(shard: MemoryTxn, limit: int) -> None:
    listed = brokers.list_brokers(shard, ListBrokers(role="mqtt", limit=limit))

    assert [broker.name for broker in listed] == ["ada", "adam"][:limit]


@pytest.mark.parametrize("limit", [0, 3, 2**32 - 1])
def test_no_list_is_longer_than_the_longest(
    shard: MemoryTxn, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brokers, "LONGEST_LIST", 2)

    assert len(list(brokers.list_brokers(shard, ListBrokers(limit=limit)))) == 2
