"""The handlers of schemas: a definition becomes a version, and a bound schema stays."""

from typing import Final

from quorate.builtin.schema.compatibility import UNCHECKED
from quorate.builtin.schema.rows import (
    BINDINGS,
    BOUND,
    SCHEMAS,
    VERSIONS,
    binding_key,
    bound_key,
    schema_key,
    version_key,
)
from quorate.builtin.schema.validation import UPDATES
from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.resource.tenants import tenant_there
from quorate.v1 import schema_pb2 as pb

#: One command deletes them all.
MOST_VERSIONS: Final = 100


def create(txn: Txn, command: pb.CreateSchema) -> pb.Schema:
    """Create a schema, with its first version."""
    if txn.get(SCHEMAS, schema_key(command.tenant, command.name)) is not None:
        raise Rejected(
            "ALREADY_EXISTS", f"schema {command.name} of {command.tenant} already exists"
        )
    return _new(txn, command)


def update(txn: Txn, command: pb.UpdateSchema) -> pb.Schema:
    """Change the given fields, if the newest version is the expected one."""
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
    if "compatibility" in given:
        schema.compatibility = command.compatibility
    if "definition" in given:
        return _add_version(txn, schema, command.definition, command.verdict)
    return _write(txn, schema)


def put(txn: Txn, command: pb.PutSchema) -> pb.Schema:
    """Create or replace a schema; an unchanged definition adds no version."""
    stored = txn.get(SCHEMAS, schema_key(command.tenant, command.name))
    if stored is None:
        return _new(txn, command)
    schema = pb.Schema.FromString(stored)
    if schema.kind != command.kind:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"schema {command.name} of {command.tenant} is of kind "
            f"{pb.SchemaKind.Name(schema.kind)}, which cannot change: put another schema",
        )
    schema.description = command.description
    schema.compatibility = command.compatibility or schema.compatibility
    newest = txn.get(VERSIONS, version_key(schema.tenant, schema.name, schema.version))
    if pb.SchemaVersion.FromString(newest or b"").definition != command.definition:
        return _add_version(txn, schema, command.definition, command.verdict)
    return _write(txn, schema)


def changed(txn: Txn, before: pb.Schema | None, after: pb.Schema | None) -> None:
    """Delete the versions of a schema with it; refuse while it is bound."""
    assert before is not None, "only the deletion is derived"
    for row in txn.scan(BOUND, *keys.prefix(before.tenant, before.name), limit=1):
        _, _, resource = keys.unpack(row.key)
        raise Rejected(
            "FAILED_PRECONDITION",
            f"schema {before.name} of {before.tenant} is bound to {resource!r}: unbind it first",
        )
    for version in range(1, before.version + 1):
        txn.delete(VERSIONS, version_key(before.tenant, before.name, version))


def bind(txn: Txn, command: pb.BindSchema) -> None:
    """Bind a schema to a resource; an existing binding stays as it is."""
    _there(txn, command.tenant, command.name)
    tenant_there(txn, command.tenant)
    key = binding_key(command.tenant, command.resource, command.name)
    if txn.get(BINDINGS, key) is None:
        binding = pb.SchemaBinding(
            tenant=command.tenant, resource=command.resource, name=command.name
        )
        txn.put(BINDINGS, key, binding.SerializeToString(deterministic=True))
        txn.put(BOUND, bound_key(command.tenant, command.name, command.resource), b"")


def unbind(txn: Txn, command: pb.UnbindSchema) -> None:
    """Unbind a schema from a resource."""
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


def _new(txn: Txn, command: pb.CreateSchema | pb.PutSchema) -> pb.Schema:
    tenant_there(txn, command.tenant)
    schema = pb.Schema(
        tenant=command.tenant,
        name=command.name,
        kind=command.kind,
        description=command.description,
        created_at_ms=txn.proposed_at_ms,
        compatibility=command.compatibility,
    )
    return _add_version(txn, schema, command.definition, command.verdict)


def _there(txn: Txn, tenant: str, name: str) -> pb.Schema:
    value = txn.get(SCHEMAS, schema_key(tenant, name))
    if value is None:
        raise Rejected("NOT_FOUND", f"there is no schema {name} of {tenant}")
    return pb.Schema.FromString(value)


def _demand_fitting(schema: pb.Schema, verdict: pb.SchemaVerdict) -> None:
    """Refuse a definition that does not fit the newest one, or was not compared with it."""
    if schema.compatibility in UNCHECKED:
        return
    name = f"schema {schema.name} of {schema.tenant}"
    if (verdict.version, verdict.mode) != (schema.version, schema.compatibility):
        raise Rejected(
            "ABORTED", f"{name} has changed since the definition was compared with it: send again"
        )
    if verdict.refusal:
        raise Rejected(
            "INCOMPATIBLE",
            f"{name} has compatibility {pb.SchemaCompatibility.Name(schema.compatibility)}, and"
            f" the definition does not fit version {schema.version}: {verdict.refusal}",
        )


def _add_version(
    txn: Txn, schema: pb.Schema, definition: bytes, verdict: pb.SchemaVerdict
) -> pb.Schema:
    _demand_fitting(schema, verdict)
    if schema.version >= MOST_VERSIONS:
        raise Rejected(
            "RESOURCE_EXHAUSTED",
            f"schema {schema.name} of {schema.tenant} has {MOST_VERSIONS} versions, "
            "the maximum: create another schema",
        )
    schema.version += 1
    version = pb.SchemaVersion(
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


def _write(txn: Txn, schema: pb.Schema) -> pb.Schema:
    schema.updated_at_ms = txn.proposed_at_ms
    key = schema_key(schema.tenant, schema.name)
    txn.put(SCHEMAS, key, schema.SerializeToString(deterministic=True))
    return schema
