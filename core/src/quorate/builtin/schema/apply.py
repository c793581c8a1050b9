"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.builtin.schema.families import (
    BINDINGS,
    BOUND,
    SCHEMAS,
    TENANTS,
    VERSIONS,
    binding_key,
    bound_key,
    schema_key,
    version_key,
)
from quorate.builtin.schema.validation import UPDATES
from quorate.plugin import Rejected, Txn, answer_each, keys
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.schema_pb2 import (
    BindSchema,
    BindSchemas,
    CreateSchema,
    CreateSchemas,
    DeleteSchema,
    DeleteSchemas,
    PutSchema,
    PutSchemas,
    Schema,
    SchemaBinding,
    SchemaKind,
    SchemaVersion,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)
from quorate.v1.tenant_pb2 import Tenant

#: One command deletes them all.
MOST_VERSIONS: Final = 100


def create_schema(txn: Txn, command: CreateSchema) -> Schema:
    """Make a schema, with its first version."""
    if txn.get(SCHEMAS, schema_key(command.tenant, command.name)) is not None:
        raise Rejected(
            "ALREADY_EXISTS", f"schema {command.name} of {command.tenant} is there already"
        )
    return _create(txn, command)


def create_schemas(txn: Txn, command: CreateSchemas) -> BatchReply:
    """Make many schemas."""
    return answer_each(txn, command.schemas, create_schema)


def update_schema(txn: Txn, command: UpdateSchema) -> Schema:
    """Change what is given, if the newest version is the one that is expected."""
    schema = _there(txn, command.tenant, command.name)
    if command.expected_version not in (0, schema.version):
        raise Rejected(
            "VERSION_MISMATCH",
            f"schema {command.name} of {command.tenant} has version {schema.version}, "
            f"and version {command.expected_version} is expected: read it again",
        )
    given = UPDATES.given(command).paths
    if "description" in given:
        schema.description = command.description
    if "definition" in given:
        return _add_version(txn, schema, command.definition)
    return _write(txn, schema)


def update_schemas(txn: Txn, command: UpdateSchemas) -> BatchReply:
    """Change what is given of many schemas."""
    return answer_each(txn, command.schemas, update_schema)


def put_schema(txn: Txn, command: PutSchema) -> Schema:
    """Make a schema, or replace what is said of it; the same definition is no new version."""
    stored = txn.get(SCHEMAS, schema_key(command.tenant, command.name))
    if stored is None:
        return _create(txn, command)
    schema = Schema.FromString(stored)
    if schema.kind != command.kind:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"schema {command.name} of {command.tenant} is of kind {SchemaKind.Name(schema.kind)}, "
            "which stays: put another schema",
        )
    schema.description = command.description
    newest = txn.get(VERSIONS, version_key(schema.tenant, schema.name, schema.version))
    if SchemaVersion.FromString(newest or b"").definition != command.definition:
        return _add_version(txn, schema, command.definition)
    return _write(txn, schema)


def put_schemas(txn: Txn, command: PutSchemas) -> BatchReply:
    """Make or replace many schemas."""
    return answer_each(txn, command.schemas, put_schema)


def delete_schema(txn: Txn, command: DeleteSchema) -> None:
    """Delete a schema that is bound to nothing, with all its versions."""
    if command.missing_ok and txn.get(SCHEMAS, schema_key(command.tenant, command.name)) is None:
        return
    schema = _there(txn, command.tenant, command.name)
    for row in txn.scan(BOUND, *keys.prefix(command.tenant, command.name), limit=1):
        _, _, resource = keys.unpack(row.key)
        raise Rejected(
            "FAILED_PRECONDITION",
            f"schema {command.name} of {command.tenant} is bound to {resource!r}: unbind it first",
        )
    for version in range(1, schema.version + 1):
        txn.delete(VERSIONS, version_key(command.tenant, command.name, version))
    txn.delete(SCHEMAS, schema_key(command.tenant, command.name))


def delete_schemas(txn: Txn, command: DeleteSchemas) -> BatchReply:
    """Delete many schemas."""
    return answer_each(txn, command.schemas, delete_schema)


def bind_schema(txn: Txn, command: BindSchema) -> None:
    """Bind a schema to a resource; a binding that there is stays as it is."""
    _there(txn, command.tenant, command.name)
    _check_tenant(txn, command.tenant)
    key = binding_key(command.tenant, command.resource, command.name)
    if txn.get(BINDINGS, key) is None:
        binding = SchemaBinding(tenant=command.tenant, resource=command.resource, name=command.name)
        txn.put(BINDINGS, key, binding.SerializeToString(deterministic=True))
        txn.put(BOUND, bound_key(command.tenant, command.name, command.resource), b"")


def bind_schemas(txn: Txn, command: BindSchemas) -> BatchReply:
    """Make many bindings."""
    return answer_each(txn, command.bindings, bind_schema)


def unbind_schema(txn: Txn, command: UnbindSchema) -> None:
    """Take a schema off a resource."""
    key = binding_key(command.tenant, command.resource, command.name)
    if txn.get(BINDINGS, key) is None:
        if command.missing_ok:
            return
        raise Rejected(
            "NOT_FOUND",
            f"schema {command.name} of {command.tenant} is not bound to {command.resource}",
        )
    txn.delete(BINDINGS, key)
    txn.delete(BOUND, bound_key(command.tenant, command.name, command.resource))


def unbind_schemas(txn: Txn, command: UnbindSchemas) -> BatchReply:
    """Take many bindings away."""
    return answer_each(txn, command.bindings, unbind_schema)


def _check_tenant(txn: Txn, name: str) -> None:
    """Refuse something new for a tenant that is not there or is being deleted."""
    value = txn.get(TENANTS, keys.pack(name))
    if value is None:
        raise Rejected("NOT_FOUND", f"there is no tenant {name}: create it first")
    if Tenant.FromString(value).deleting_at_ms:
        raise Rejected("FAILED_PRECONDITION", f"tenant {name} is being deleted: it takes nothing")


def _create(txn: Txn, command: CreateSchema | PutSchema) -> Schema:
    _check_tenant(txn, command.tenant)
    schema = Schema(
        tenant=command.tenant,
        name=command.name,
        kind=command.kind,
        description=command.description,
        created_at_ms=txn.proposed_at_ms,
    )
    return _add_version(txn, schema, command.definition)


def _there(txn: Txn, tenant: str, name: str) -> Schema:
    value = txn.get(SCHEMAS, schema_key(tenant, name))
    if value is None:
        raise Rejected("NOT_FOUND", f"there is no schema {name} of {tenant}")
    return Schema.FromString(value)


def _add_version(txn: Txn, schema: Schema, definition: bytes) -> Schema:
    if schema.version >= MOST_VERSIONS:
        raise Rejected(
            "RESOURCE_EXHAUSTED",
            f"schema {schema.name} of {schema.tenant} has {MOST_VERSIONS} versions, "
            "the most there can be: create another schema",
        )
    schema.version += 1
    version = SchemaVersion(
        tenant=schema.tenant,
        name=schema.name,
        version=schema.version,
        kind=schema.kind,
        definition=definition,
        created_at_ms=txn.proposed_at_ms,
    )
    txn.put(
        VERSIONS,
        version_key(schema.tenant, schema.name, schema.version),
        version.SerializeToString(deterministic=True),
    )
    return _write(txn, schema)


def _write(txn: Txn, schema: Schema) -> Schema:
    schema.updated_at_ms = txn.proposed_at_ms
    key = schema_key(schema.tenant, schema.name)
    txn.put(SCHEMAS, key, schema.SerializeToString(deterministic=True))
    return schema
