"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from math import inf, nan

import pytest
from pydantic import ValidationError
from quorate.plugin import CliCommand, Metric, RaftGroup
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import declarations_of
from quorate_connector import plugin
from quorate_connector.api import ConnectorType
from quorate_connector.config import ConnectorConfig

INTERNAL = {
    # With a definition that the service has checked against its type.
    "PutConnectorsRequest",
    "CreateConnectorsRequest",
    "UpdateConnectorsRequest",
    "RollBackConnectors",
    # Of the scheduler and of timers.
    "AssignTasks",
    "ReleaseTasks",
    "ReclaimTasks",
    "ExpireWorkers",
    "RetryTasks",
    "TakeTasks",
}


def test_the_names_that_are_kept_for_ever(catalog: Catalog) -> None:
    families = {each.name: each.row for each in catalog.declared["connector"].families}

    assert [group.name for group in declarations_of(plugin, RaftGroup)] == ["mqtt"]
    assert {name for name, row in families.items() if row is not None} == {
        "connector.assignments",
        "connector.connectors",
        "connector.cursors",
        "connector.tasks",
        "connector.versions",
        "connector.workers",
    }


def test_no_stored_row_has_a_map(catalog: Catalog) -> None:
    """The bytes of a map depend on the order in which it was filled."""
    for family in catalog.declared["connector"].families:
        for field in family.row.DESCRIPTOR.fields if family.row is not None else ():
            entry = field.message_type
            assert entry is None or not entry.GetOptions().map_entry, f"{family.name}.{field.name}"


def test_clients_cannot_do_what_the_services_and_the_scheduler_do(catalog: Catalog) -> None:
    commands = catalog.declared["connector"].commands

    assert {each.message.__name__ for each in commands if not each.public} == INTERNAL


def test_the_names_that_operators_see(catalog: Catalog) -> None:
    declared = catalog.declared["connector"]
    names = [each.name for each in declared.controllers]
    assert {*names, *(each.name for each in declared.timers)} == {
        "connector.scheduling",
        "connector.task_release",
        "connector.task_retry",
        "connector.tenant_deletion",
        "connector.worker_liveness",
    }
    assert {metric.name for metric in declarations_of(plugin, Metric)} == {
        "quorate_connector_assigned_total",
        "quorate_connector_reclaimed_total",
        "quorate_connector_released_total",
        "quorate_connector_tasks",
        "quorate_connector_workers",
    }
    assert [each.name for each in declarations_of(plugin, CliCommand)] == ["connector"]


def test_the_names_that_stand_in_rows_and_definitions(catalog: Catalog) -> None:
    types = catalog.extensions["connector.types"]

    assert set(types) == {"file", "kafka", "mqtt_bridge", "webhook"}
    for name, offered in types.items():
        assert isinstance(offered, ConnectorType)
        assert offered.name == name
    assert "connector" in catalog.extensions["tenant.cascades"]


@pytest.mark.parametrize("field", ["worker_timeout_s", "release_timeout_s"])
def test_a_time_that_no_deadline_can_have_is_refused(field: str) -> None:
    for wrong in (0.0, 3_601.0, inf, nan):
        with pytest.raises(ValidationError, match=field):
            ConnectorConfig.model_validate({field: wrong})
