"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.connectors import rows
from quorate_connector.connectors.families import UIDS
from quorate_connector.connectors.orphans import settle_progress
from quorate_connector.connectors.tenants import check_open
from quorate_connector.tasks import lifecycle
from quorate_connector.v1.connectors_pb2 import (
    TARGET_RUNNING,
    TARGET_STOPPED,
    Connector,
    CreateConnector,
    CreateConnectors,
    Definition,
    DeleteConnector,
    DeleteConnectors,
    PutConnector,
    PutConnectors,
    RestartTasks,
    RollBackConnector,
    SetConnectorTarget,
    Target,
    UpdateConnector,
    UpdateConnectors,
)


def create_connector(txn: Txn, command: CreateConnector) -> Connector:
    """Make a connector with its tasks."""
    if rows.find(txn, command.tenant, command.name) is not None:
        raise Rejected(
            "ALREADY_EXISTS",
            f"connector {command.name} of tenant {command.tenant} is there already: update it",
        )
    return _create(txn, command)


def _create(txn: Txn, command: CreateConnector | PutConnector) -> Connector:
    check_open(txn, command.tenant)
    connector = Connector(
        tenant=command.tenant,
        name=command.name,
        uid=txn.next_id(UIDS),
        target=command.target or TARGET_RUNNING,
        created_at_ms=txn.proposed_at_ms,
    )
    rows.write_version(txn, connector, command.definition)
    lifecycle.found(txn, connector, range(command.definition.tasks_max), "created")
    return connector


def create_connectors(txn: Txn, command: CreateConnectors) -> BatchReply:
    """Make many connectors."""
    return answer_each(txn, command.connectors, create_connector)


def update_connector(txn: Txn, command: UpdateConnector) -> Connector:
    """Give a connector another definition; the same one changes nothing."""
    connector = rows.there(txn, command.tenant, command.name)
    if command.expected_version not in (0, connector.version):
        raise Rejected(
            "VERSION_CONFLICT",
            f"connector {connector.name} of tenant {connector.tenant} has version "
            f"{connector.version}, and {command.expected_version} is expected: read it again",
        )
    return _redefine(txn, connector, command.definition, discard=command.discard_progress)


def update_connectors(txn: Txn, command: UpdateConnectors) -> BatchReply:
    """Give many connectors another definition."""
    return answer_each(txn, command.connectors, update_connector)


def put_connector(txn: Txn, command: PutConnector) -> Connector:
    """Make a connector, or give the one that is there this definition and, if any, this target."""
    connector = rows.find(txn, command.tenant, command.name)
    if connector is None:
        return _create(txn, command)
    connector = _redefine(txn, connector, command.definition, discard=command.discard_progress)
    return _aim(txn, connector, command.target or connector.target)


def put_connectors(txn: Txn, command: PutConnectors) -> BatchReply:
    """Make or replace many connectors."""
    return answer_each(txn, command.connectors, put_connector)


def roll_back_connector(txn: Txn, command: RollBackConnector) -> Connector:
    """Give a connector the definition of an earlier version again."""
    connector = rows.there(txn, command.tenant, command.name)
    version = rows.find_version(txn, command.tenant, command.name, command.version)
    if version is None:
        raise Rejected(
            "VERSION_NOT_FOUND",
            f"version {command.version} of connector {connector.name} of tenant "
            f"{connector.tenant} is not kept; the newest is {connector.version}, and "
            f"{rows.MOST_VERSIONS} are kept",
        )
    return _redefine(txn, connector, version.definition, discard=command.discard_progress)


def delete_connector(txn: Txn, command: DeleteConnector) -> None:
    """Delete a connector with its versions and tasks."""
    if command.missing_ok and rows.find(txn, command.tenant, command.name) is None:
        return
    connector = rows.there(txn, command.tenant, command.name)
    lifecycle.remove(txn, connector, range(connector.definition.tasks_max))
    rows.delete(txn, connector)


def delete_connectors(txn: Txn, command: DeleteConnectors) -> BatchReply:
    """Delete many connectors."""
    return answer_each(txn, command.connectors, delete_connector)


def set_connector_target(txn: Txn, command: SetConnectorTarget) -> Connector:
    """Say what the tasks of a connector are to do."""
    return _aim(txn, rows.there(txn, command.tenant, command.name), command.target)


def restart_tasks(txn: Txn, command: RestartTasks) -> Connector:
    """Have tasks begin anew, also those that have failed for good."""
    connector = rows.there(txn, command.tenant, command.name)
    if connector.target == TARGET_STOPPED:
        raise Rejected(
            "CONNECTOR_STOPPED",
            f"connector {connector.name} of tenant {connector.tenant} is stopped: resume it, "
            f"which sets the target {Target.Name(TARGET_RUNNING)}",
        )
    tasks_max = connector.definition.tasks_max
    unknown = sorted({number for number in command.tasks if number >= tasks_max})
    if unknown:
        raise Rejected(
            "TASK_NOT_FOUND",
            f"connector {connector.name} of tenant {connector.tenant} has the tasks 0 to "
            f"{tasks_max - 1}, not {unknown[0]}",
        )
    lifecycle.renew(txn, connector, "restarted", sorted(set(command.tasks)) or None)
    return connector


def _aim(txn: Txn, connector: Connector, target: Target) -> Connector:
    if connector.target != target:
        connector.target = target
        rows.write(txn, connector)
        lifecycle.aim(txn, connector)
    return connector


def _redefine(txn: Txn, connector: Connector, wanted: Definition, *, discard: bool) -> Connector:
    if wanted == connector.definition:
        return connector
    settle_progress(txn, connector, wanted, discard=discard)
    before, after = connector.definition.tasks_max, wanted.tasks_max
    lifecycle.remove(txn, connector, range(after, before))
    rows.write_version(txn, connector, wanted)
    reason = f"version {connector.version}"
    lifecycle.renew(txn, connector, reason, range(min(before, after)))
    lifecycle.found(txn, connector, range(before, after), reason)
    return connector
