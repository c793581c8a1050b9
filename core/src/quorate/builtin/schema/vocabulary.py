"""The words for changing and reading schemas: all that a client needs to know of the domain."""

from typing import Any, Final

from quorate.builtin.schema import queries
from quorate.builtin.schema.families import GROUP, binding_key, schema_key
from quorate.builtin.schema.validation import (
    check_binding,
    check_bindings,
    check_create,
    check_creates,
    check_deletes,
    check_schema,
    check_update,
    check_updates,
)
from quorate.plugin import Command, Items, Query, constant_key
from quorate.v1.schema_pb2 import (
    SCHEMA_KIND_AVRO,
    SCHEMA_KIND_JSON,
    BindSchema,
    BindSchemas,
    CreateSchema,
    CreateSchemas,
    DeleteSchema,
    DeleteSchemas,
    GetSchema,
    ListSchemaBindings,
    ListSchemas,
    PutSchema,
    PutSchemas,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)

_CREATE: Final = CreateSchema(tenant="acme", name="order", kind=SCHEMA_KIND_JSON, definition=b"{}")
_CREATE_OTHER: Final = CreateSchema(
    tenant="acme", name="parcel", kind=SCHEMA_KIND_AVRO, definition=b'"string"'
)
_UPDATE: Final = UpdateSchema(
    tenant="acme", name="order", definition=b'{"type": "object"}', expected_version=1
)
_UPDATE_OTHER: Final = UpdateSchema(tenant="acme", name="parcel", definition=b'"bytes"')
_PUT: Final = PutSchema(
    tenant="acme", name="order", kind=SCHEMA_KIND_JSON, definition=b"[]", description="Orders."
)
_DELETE: Final = DeleteSchema(tenant="acme", name="order")
_DELETE_OTHER: Final = DeleteSchema(tenant="acme", name="parcel")
_BIND: Final = BindSchema(tenant="acme", resource="topics/orders", name="order")
_BIND_OTHER: Final = BindSchema(tenant="acme", resource="topics/parcels", name="parcel")
_UNBIND: Final = UnbindSchema(tenant="acme", resource="topics/orders", name="order")
_UNBIND_OTHER: Final = UnbindSchema(tenant="acme", resource="topics/parcels", name="parcel")

CREATE: Final = Command(
    message=CreateSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_create,
    public=True,
    examples=(_CREATE,),
)

CREATE_BATCH: Final = Command(
    message=CreateSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.schemas,
        shard_key=constant_key,
        make=lambda _, schemas: CreateSchemas(schemas=schemas),
        key=lambda schema: schema_key(schema.tenant, schema.name),
    ),
    validate=check_creates,
    public=True,
    examples=(CreateSchemas(schemas=[_CREATE_OTHER, _CREATE]),),
)

UPDATE: Final = Command(
    message=UpdateSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_update,
    public=True,
    examples=(_UPDATE,),
)

UPDATE_BATCH: Final = Command(
    message=UpdateSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.schemas,
        shard_key=constant_key,
        make=lambda _, schemas: UpdateSchemas(schemas=schemas),
        key=lambda schema: schema_key(schema.tenant, schema.name),
    ),
    validate=check_updates,
    public=True,
    examples=(UpdateSchemas(schemas=[_UPDATE_OTHER, _UPDATE]),),
)

PUT: Final = Command(
    message=PutSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_create,
    public=True,
    examples=(_PUT,),
)

PUT_BATCH: Final = Command(
    message=PutSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.schemas,
        shard_key=constant_key,
        make=lambda _, schemas: PutSchemas(schemas=schemas),
        key=lambda schema: schema_key(schema.tenant, schema.name),
    ),
    validate=check_creates,
    public=True,
    examples=(PutSchemas(schemas=[_PUT]),),
)

DELETE: Final = Command(
    message=DeleteSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_schema,
    public=True,
    examples=(_DELETE,),
)

DELETE_BATCH: Final = Command(
    message=DeleteSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.schemas,
        shard_key=constant_key,
        make=lambda _, schemas: DeleteSchemas(schemas=schemas),
        key=lambda schema: schema_key(schema.tenant, schema.name),
    ),
    validate=check_deletes,
    public=True,
    examples=(DeleteSchemas(schemas=[_DELETE_OTHER, _DELETE]),),
)

BIND: Final = Command(
    message=BindSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_binding,
    public=True,
    examples=(_BIND,),
)

BIND_BATCH: Final = Command(
    message=BindSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.bindings,
        shard_key=constant_key,
        make=lambda _, bindings: BindSchemas(bindings=bindings),
        key=lambda binding: binding_key(binding.tenant, binding.resource, binding.name),
    ),
    validate=check_bindings,
    public=True,
    examples=(BindSchemas(bindings=[_BIND_OTHER, _BIND]),),
)

UNBIND: Final = Command(
    message=UnbindSchema,
    group=GROUP,
    shard_key=constant_key,
    validate=check_binding,
    public=True,
    examples=(_UNBIND,),
)

UNBIND_BATCH: Final = Command(
    message=UnbindSchemas,
    group=GROUP,
    items=Items(
        get=lambda command: command.bindings,
        shard_key=constant_key,
        make=lambda _, bindings: UnbindSchemas(bindings=bindings),
        key=lambda binding: binding_key(binding.tenant, binding.resource, binding.name),
    ),
    validate=check_bindings,
    public=True,
    examples=(UnbindSchemas(bindings=[_UNBIND_OTHER, _UNBIND]),),
)

GET: Final = Query(message=GetSchema, group=GROUP, run=queries.get_schema, shard_key=constant_key)

LIST: Final = Query(
    message=ListSchemas, group=GROUP, run=queries.list_schemas, shard_key=constant_key
)

LIST_BINDINGS: Final = Query(
    message=ListSchemaBindings, group=GROUP, run=queries.list_bindings, shard_key=constant_key
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    CREATE,
    CREATE_BATCH,
    UPDATE,
    UPDATE_BATCH,
    PUT,
    PUT_BATCH,
    BIND,
    BIND_BATCH,
    UNBIND,
    UNBIND_BATCH,
    DELETE,
    DELETE_BATCH,
)
QUERIES: Final[tuple[Query[Any], ...]] = (GET, LIST, LIST_BINDINGS)
