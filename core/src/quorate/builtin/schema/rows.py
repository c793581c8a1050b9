"""Where the rows are: schemas, their versions and bindings, all in one shard."""

from typing import Final

from quorate.plugin import keys
from quorate.plugin.advanced import METADATA_GROUP

GROUP: Final = METADATA_GROUP.name
SCHEMAS: Final = "schema.schemas"
VERSIONS: Final = "schema.versions"
#: By tenant, resource and schema.
BINDINGS: Final = "schema.bindings"
#: The same by tenant, schema and resource: whether a schema is bound.
BOUND: Final = "schema.bound_schemas"


def schema_key(tenant: str, name: str) -> bytes:
    """Return the key of a schema."""
    return keys.pack(tenant, name)


def version_key(tenant: str, name: str, version: int) -> bytes:
    """Return the key of a version: those of a schema lie together, in their order."""
    return keys.pack(tenant, name, version)


def binding_key(tenant: str, resource: str, name: str) -> bytes:
    """Return the key of a binding: those of a resource lie together."""
    return keys.pack(tenant, resource, name)


def bound_key(tenant: str, name: str, resource: str) -> bytes:
    """Return the key under which a binding is found by its schema."""
    return keys.pack(tenant, name, resource)
