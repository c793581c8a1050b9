"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate.plugin.resource import derive
from quorate_storage_engine import plugin

DERIVED = derive("storage_engine", plugin.quorate_resources())

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
    declared = (*DERIVED.families, *plugin.quorate_column_families())
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
    assert [each.name for each in plugin.quorate_controllers()] == [
        "storage_engine.election_holding",
        "storage_engine.leader_balancing",
        "storage_engine.replica_placing",
        "storage_engine.garbage_collection",
        "storage_engine.tenant_deletion",
    ]
    assert [metric.name for metric in plugin.quorate_metrics()] == [
        "quorate_storage_engine_elections_total",
        "quorate_storage_engine_unavailable_segments",
        "quorate_storage_engine_thin_segments",
        "quorate_storage_engine_overdue_drops",
    ]


def test_the_names_that_stand_in_rows_and_scripts() -> None:
    assert [each.name for each in plugin.quorate_extensions()] == [
        "storage_engine.shards",
        "storage_engine",
        "engine",
    ]
    assert [each.name for each in plugin.quorate_cli_commands()] == ["engine"]


def test_clients_cannot_do_what_controllers_do() -> None:
    internal = {command.message.__name__ for command in DERIVED.commands if not command.public}

    assert internal == INTERNAL
