"""What other processes rely on: names that stand in logs and on disks."""

from quorate.builtin.cluster import plugin
from quorate.plugin import ColumnFamily, Timer
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.coordinator_pb2 import Coordinator


def test_the_names_that_are_kept_for_ever() -> None:
    commands = [command.message.DESCRIPTOR.full_name for command in plugin.quorate_commands()]

    assert commands == [
        "quorate.v1.RegisterBroker",
        "quorate.v1.RegisterBrokers",
        "quorate.v1.SendHeartbeat",
        "quorate.v1.SendHeartbeats",
        "quorate.v1.UnregisterBroker",
        "quorate.v1.UnregisterBrokers",
        "quorate.v1.ExpireBrokers",
        "quorate.v1.AssignCoordinators",
        "quorate.v1.ReleaseCoordinators",
        "quorate.v1.MoveCoordinators",
    ]


def test_brokers_are_mirrored_to_the_groups_whose_handlers_read_them() -> None:
    brokers, coordinators, assignments = plugin.quorate_column_families()

    assert brokers == ColumnFamily(
        name="cluster.brokers", group="metadata", row=Broker, mirrored=True
    )
    assert coordinators == ColumnFamily(
        name="cluster.coordinators", group="metadata", row=Coordinator
    )
    assert assignments == ColumnFamily(name="cluster.coordinator_assignments", group="metadata")


def test_a_new_leader_waits_for_heartbeats_before_it_expires_anybody() -> None:
    timer, _ = plugin.quorate_controllers()

    assert isinstance(timer, Timer)
    assert (timer.name, timer.group, timer.liveness) == ("cluster.liveness", "metadata", True)


def test_clients_cannot_expire_or_move_anybody() -> None:
    internal = [each.message.__name__ for each in plugin.quorate_commands() if not each.public]

    assert internal == ["ExpireBrokers", "MoveCoordinators"]
