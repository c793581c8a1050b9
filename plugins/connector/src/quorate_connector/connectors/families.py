"""Where the rows of connectors are."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_connector.shard import GROUP, shard_key
from quorate_connector.v1.connectors_pb2 import Connector, Version

CONNECTORS: Final = "connector.connectors"
VERSIONS: Final = "connector.versions"
#: The sequence of the connectors' uids.
UIDS: Final = "connector.uids"

FAMILIES: Final = (
    ColumnFamily(name=CONNECTORS, group=GROUP, row=Connector, shard_key=shard_key, counted=True),
    ColumnFamily(name=VERSIONS, group=GROUP, row=Version, shard_key=shard_key),
)


def connector_key(tenant: str, name: str) -> bytes:
    """Return the key of a connector: those of a tenant lie together, by name."""
    return keys.pack(tenant, name)


def version_key(tenant: str, name: str, version: int) -> bytes:
    """Return the key of a version: those of a connector lie together, in their order."""
    return keys.pack(tenant, name, version)
