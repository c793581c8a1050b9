"""What other processes rely on: names that stand in logs and on disks."""

from quorate.builtin.cluster import plugin
from quorate.plugin import ColumnFamily, Timer
from quorate.plugin.advanced import cluster_place
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import declarations_of
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.coordinator_pb2 import Coordinator


def test_the_names_that_are_kept_for_ever(catalog: Catalog) -> None:
    assert list(catalog.commands) == [
        f"quorate.v1.{name}"
        for name in (
            "AssignCoordinators",
            "ExpireBrokers",
            "MoveCoordinators",
            "RegisterBrokers",
            "ReleaseCoordinators",
            "SendHeartbeats",
            "UnregisterBrokers",
        )
    ]


def test_brokers_are_mirrored_to_the_groups_whose_handlers_read_them(catalog: Catalog) -> None:
    assert set(catalog.families.values()) == {
        ColumnFamily(
            name="cluster.brokers", group="metadata", row=Broker, mirrored=True, place=cluster_place
        ),
        ColumnFamily(
            name="cluster.coordinators", group="metadata", row=Coordinator, place=cluster_place
        ),
        ColumnFamily(name="cluster.coordinator_assignments", group="metadata"),
    }


def test_a_new_leader_waits_for_heartbeats_before_it_expires_anybody() -> None:
    [timer] = declarations_of(plugin, Timer)

    assert (timer.name, timer.group, timer.liveness) == ("cluster.liveness", "metadata", True)


def test_clients_cannot_expire_or_move_anybody(catalog: Catalog) -> None:
    internal = [name for name, each in catalog.commands.items() if not each.public]

    assert internal == ["quorate.v1.ExpireBrokers", "quorate.v1.MoveCoordinators"]
