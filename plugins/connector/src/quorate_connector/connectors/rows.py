"""Reads and writes connectors and their versions."""

from typing import Final

from quorate.plugin import Reader, Rejected, Txn

from quorate_connector.connectors.families import (
    CONNECTORS,
    VERSIONS,
    connector_key,
    version_key,
)
from quorate_connector.v1.connectors_pb2 import Connector, Definition, Version

#: Of a connector; the oldest ones go first.
MOST_VERSIONS: Final = 20


def find(reader: Reader, tenant: str, name: str) -> Connector | None:
    """Return a connector, if there is one."""
    value = reader.get(CONNECTORS, connector_key(tenant, name))
    return None if value is None else Connector.FromString(value)


def there(reader: Reader, tenant: str, name: str) -> Connector:
    """Return a connector; refuses when there is none."""
    connector = find(reader, tenant, name)
    if connector is None:
        raise Rejected("CONNECTOR_NOT_FOUND", f"there is no connector {name} of tenant {tenant}")
    return connector


def find_version(reader: Reader, tenant: str, name: str, version: int) -> Version | None:
    """Return a version of a connector, if it is kept."""
    value = reader.get(VERSIONS, version_key(tenant, name, version))
    return None if value is None else Version.FromString(value)


def write(txn: Txn, connector: Connector) -> Connector:
    """Write a connector, which changes now."""
    connector.updated_at_ms = txn.proposed_at_ms
    txn.put(
        CONNECTORS,
        connector_key(connector.tenant, connector.name),
        connector.SerializeToString(deterministic=True),
    )
    return connector


def write_version(txn: Txn, connector: Connector, definition: Definition) -> Connector:
    """Make a definition the newest version of a connector, and forget one that is too old."""
    connector.version += 1
    connector.definition.CopyFrom(definition)
    version = Version(
        version=connector.version, definition=definition, created_at_ms=txn.proposed_at_ms
    )
    txn.put(
        VERSIONS,
        version_key(connector.tenant, connector.name, connector.version),
        version.SerializeToString(deterministic=True),
    )
    if connector.version > MOST_VERSIONS:
        oldest = connector.version - MOST_VERSIONS
        txn.delete(VERSIONS, version_key(connector.tenant, connector.name, oldest))
    return write(txn, connector)


def delete(txn: Txn, connector: Connector) -> None:
    """Delete a connector with its versions."""
    for version in range(max(1, connector.version - MOST_VERSIONS + 1), connector.version + 1):
        txn.delete(VERSIONS, version_key(connector.tenant, connector.name, version))
    txn.delete(CONNECTORS, connector_key(connector.tenant, connector.name))
