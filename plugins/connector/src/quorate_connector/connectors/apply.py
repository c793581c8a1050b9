"""The verbs of connectors: each item is written, or refused with a reason."""

from typing import Any, Final

from quorate.plugin import Reader, Rejected, Txn
from quorate.plugin.resource import tenant_there

from quorate_connector.families import CONNECTORS, UIDS, VERSIONS, connector_key, version_key
from quorate_connector.tasks import lifecycle
from quorate_connector.v1 import connectors_pb2 as pb

#: The number of versions kept for each connector; the oldest are dropped first.
MOST_VERSIONS: Final = 20
#: The most tasks that a refusal names.
_NAMED: Final = 20


def create(txn: Txn, item: pb.CreateConnectorRequest) -> pb.Connector:
    """Create a connector with its tasks."""
    if find(txn, item) is not None:
        raise Rejected(
            "ALREADY_EXISTS",
            f"connector {item.name} of tenant {item.tenant} already exists: update it",
        )
    return _create(txn, item)


def update(txn: Txn, item: pb.UpdateConnectorRequest) -> pb.Connector:
    """Replace the definition of a connector; an equal definition changes nothing."""
    connector = _there(txn, item)
    if item.expected_version not in (0, connector.version):
        raise Rejected(
            "VERSION_CONFLICT",
            f"{_named(connector)} has version {connector.version}, not the expected "
            f"{item.expected_version}: read it again",
        )
    return _redefine(txn, connector, item.definition, discard=item.discard_progress)


def put(txn: Txn, item: pb.PutConnectorRequest) -> pb.Connector:
    """Create a connector, or replace the definition and, if given, the target of the old one."""
    connector = find(txn, item)
    if connector is None:
        return _create(txn, item)
    connector = _redefine(txn, connector, item.definition, discard=item.discard_progress)
    return _aim(txn, connector, item.target or connector.target)


def roll_back(txn: Txn, item: pb.RollBackConnectorRequest) -> pb.Connector:
    """Restore an earlier definition of a connector."""
    connector = _there(txn, item)
    value = txn.get(VERSIONS, version_key(item.tenant, item.name, item.version))
    if value is None:
        raise Rejected(
            "VERSION_NOT_FOUND",
            f"version {item.version} of {_named(connector)} is not kept; the newest is "
            f"{connector.version}, and {MOST_VERSIONS} are kept",
        )
    version = pb.Version.FromString(value)
    return _redefine(txn, connector, version.definition, discard=item.discard_progress)


def delete(txn: Txn, item: pb.DeleteConnector) -> None:
    """Delete a connector with its versions and tasks."""
    if item.missing_ok and find(txn, item) is None:
        return
    connector = _there(txn, item)
    lifecycle.remove(txn, connector, range(connector.definition.tasks_max))
    for version in range(max(1, connector.version - MOST_VERSIONS + 1), connector.version + 1):
        txn.delete(VERSIONS, version_key(connector.tenant, connector.name, version))
    txn.delete(CONNECTORS, connector_key(connector.tenant, connector.name))


def set_target(txn: Txn, item: pb.SetConnectorTarget) -> pb.Connector:
    """Set the target of a connector's tasks."""
    return _aim(txn, _there(txn, item), item.target)


def restart(txn: Txn, item: pb.RestartTasks) -> pb.Connector:
    """Restart tasks, failed ones included."""
    connector = _there(txn, item)
    if connector.target == pb.TARGET_STOPPED:
        raise Rejected(
            "CONNECTOR_STOPPED",
            f"{_named(connector)} is stopped: resume it, which sets the target "
            f"{pb.Target.Name(pb.TARGET_RUNNING)}",
        )
    tasks_max = connector.definition.tasks_max
    unknown = sorted({number for number in item.tasks if number >= tasks_max})
    if unknown:
        raise Rejected(
            "TASK_NOT_FOUND",
            f"{_named(connector)} has the tasks 0 to {tasks_max - 1}, not {unknown[0]}",
        )
    lifecycle.renew(txn, connector, "restarted", sorted(set(item.tasks)) or None)
    return connector


def find(reader: Reader, item: Any) -> pb.Connector | None:
    """Return the connector that an item names, or None."""
    value = reader.get(CONNECTORS, connector_key(item.tenant, item.name))
    return None if value is None else pb.Connector.FromString(value)


def _there(reader: Reader, item: Any) -> pb.Connector:
    connector = find(reader, item)
    if connector is None:
        raise Rejected(
            "CONNECTOR_NOT_FOUND", f"there is no connector {item.name} of tenant {item.tenant}"
        )
    return connector


def _named(connector: pb.Connector) -> str:
    return f"connector {connector.name} of tenant {connector.tenant}"


def _create(txn: Txn, item: pb.CreateConnectorRequest | pb.PutConnectorRequest) -> pb.Connector:
    _check_tenant(txn, item.tenant)
    connector = pb.Connector(
        tenant=item.tenant,
        name=item.name,
        uid=txn.next_id(UIDS),
        target=item.target or pb.TARGET_RUNNING,
        created_at_ms=txn.proposed_at_ms,
    )
    _write_version(txn, connector, item.definition)
    lifecycle.found(txn, connector, range(item.definition.tasks_max), "created")
    return connector


def _check_tenant(txn: Txn, name: str) -> None:
    """Refuse an unknown or deleting tenant, with a code of this plugin."""
    try:
        tenant_there(txn, name)
    except Rejected as refusal:
        if refusal.code == "NOT_FOUND":
            raise Rejected("TENANT_NOT_FOUND", refusal.message) from None
        raise Rejected("TENANT_DELETING", refusal.message) from None


def _aim(txn: Txn, connector: pb.Connector, target: pb.Target) -> pb.Connector:
    if connector.target != target:
        connector.target = target
        _write(txn, connector)
        lifecycle.aim(txn, connector)
    return connector


def _redefine(
    txn: Txn, connector: pb.Connector, wanted: pb.Definition, *, discard: bool
) -> pb.Connector:
    if wanted == connector.definition:
        return connector
    _settle_progress(txn, connector, wanted, discard=discard)
    before, after = connector.definition.tasks_max, wanted.tasks_max
    lifecycle.remove(txn, connector, range(after, before))
    _write_version(txn, connector, wanted)
    reason = f"version {connector.version}"
    lifecycle.renew(txn, connector, reason, range(min(before, after)))
    lifecycle.found(txn, connector, range(before, after), reason)
    return connector


def _settle_progress(
    txn: Txn, connector: pb.Connector, wanted: pb.Definition, *, discard: bool
) -> None:
    """Refuse a definition that would orphan progress, or discard the progress if asked to.

    Tasks that are removed leave their progress behind; another type cannot read it; and if a field
    that progress depends on changes, it means something else.
    """
    moved = _moved(connector.definition, wanted)
    left = range(0 if moved else wanted.tasks_max, connector.definition.tasks_max)
    orphaned = lifecycle.progressed(txn, connector, left)
    if orphaned and not discard:
        numbers = ", ".join(map(str, orphaned[:_NAMED]))
        more = f" and {len(orphaned) - _NAMED} more" if len(orphaned) > _NAMED else ""
        raise Rejected(
            "PROGRESS_ORPHANED",
            f"tasks {numbers}{more} of {_named(connector)} have stored progress that would be "
            f"lost: keep {', '.join(moved or ['tasks_max'])}, or give discard_progress",
        )
    if orphaned:
        lifecycle.forget_progress(txn, connector, left)


def _moved(present: pb.Definition, wanted: pb.Definition) -> list[str]:
    """Return the changed fields that progress depends on, of those in both definitions."""
    if wanted.type != present.type:
        return ["type"]
    digests = {field.name: field.digest for field in present.progress_of}
    return [
        f"config.{field.name}"
        for field in wanted.progress_of
        if digests.get(field.name, field.digest) != field.digest
    ]


def _write(txn: Txn, connector: pb.Connector) -> None:
    connector.updated_at_ms = txn.proposed_at_ms
    key = connector_key(connector.tenant, connector.name)
    txn.put(CONNECTORS, key, connector.SerializeToString(deterministic=True))


def _write_version(txn: Txn, connector: pb.Connector, definition: pb.Definition) -> None:
    """Store a definition as the newest version of a connector, and drop the oldest one."""
    connector.version += 1
    connector.definition.CopyFrom(definition)
    named = connector.tenant, connector.name
    version = pb.Version(
        version=connector.version, definition=definition, created_at_ms=txn.proposed_at_ms
    )
    key = version_key(*named, connector.version)
    txn.put(VERSIONS, key, version.SerializeToString(deterministic=True))
    if connector.version > MOST_VERSIONS:
        txn.delete(VERSIONS, version_key(*named, connector.version - MOST_VERSIONS))
    _write(txn, connector)
