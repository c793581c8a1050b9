"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate.plugin import CliCommand, ColumnFamily, Controller, Extension, Metric, Resource
from quorate.plugin.resource import derive
from quorate.testing.installed import declarations_of
from quorate_storage_engine import plugin

DERIVED = derive("storage_engine", declarations_of(plugin, Resource))

INTERNAL = {
    "SwitchLeaders",
    "ElectLeaders",
    "MoveLeaders",
    "FillReplicas",
    "MoveReplicas",
    "RemoveSegments",
    "FinishRemovals",
    "ForgetDrops",
}


def test_the_names_that_are_kept_for_ever() -> None:
    declared = (*DERIVED.families, *declarations_of(plugin, ColumnFamily))
    families = [family.name for family in declared]
    commands = [command.message.DESCRIPTOR.name for command in DERIVED.commands]

    assert families == [
        "storage_engine.shards",
        "storage_engine.segments",
        "storage_engine.engines",
        "storage_engine.drops",
        "storage_engine.replicas",
        "storage_engine.leaderships",
        "storage_engine.unavailables",
        "storage_engine.displacements",
        "storage_engine.shortages",
        "storage_engine.removals",
        "storage_engine.deletions",
    ]
    assert len(commands) == len(set(commands)) == 19


def test_the_names_that_operators_see() -> None:
    assert [each.name for each in declarations_of(plugin, Controller)] == [
        "storage_engine.election_holding",
        "storage_engine.leader_balancing",
        "storage_engine.replica_placing",
        "storage_engine.garbage_collection",
        "storage_engine.tenant_deletion",
    ]
    assert [metric.name for metric in declarations_of(plugin, Metric)] == [
        "quorate_storage_engine_elections_total",
        "quorate_storage_engine_unavailable_segments",
        "quorate_storage_engine_thin_segments",
        "quorate_storage_engine_overdue_drops",
    ]


def test_the_names_that_stand_in_rows_and_scripts() -> None:
    assert [each.name for each in declarations_of(plugin, Extension)] == [
        "storage_engine.shards",
        "storage_engine",
        "engine",
        "storage_engine",
        "engine",
    ]
    assert [each.name for each in declarations_of(plugin, CliCommand)] == ["engine"]


def test_clients_cannot_do_what_controllers_do() -> None:
    internal = {command.message.__name__ for command in DERIVED.commands if not command.public}

    assert internal == INTERNAL
