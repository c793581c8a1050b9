"""What the domain declares: schemas in numbered versions, and what they are bound to."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.builtin.schema import apply, validation
from quorate.builtin.schema.deletion import tenant_rows
from quorate.builtin.schema.reads import QUERIES, SchemaReads
from quorate.builtin.schema.rows import BINDINGS, BOUND, GROUP, SCHEMAS, VERSIONS
from quorate.plugin import (
    ColumnFamily,
    Controller,
    Extension,
    ExtensionPoint,
    Query,
    Resource,
    Timer,
    Verb,
    hookimpl,
)
from quorate.plugin.resource import bind, tenant_deletion
from quorate.v1 import schema_pb2 as pb

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["SchemaService"]
#: Of one item, and of many.
_FORMS: Final = ("", "Batch")
_ORDER: Final[dict[str, Any]] = {"tenant": "acme", "name": "order"}
_PARCEL: Final[dict[str, Any]] = {"tenant": "acme", "name": "parcel"}
_JSON: Final = pb.SCHEMA_KIND_JSON

SCHEMA: Final = Resource(
    family=SCHEMAS,
    row=pb.Schema,
    service=_SERVICE,
    serves=(
        *(f"{verb}{form}" for verb in ("Create", "Update", "Put", "Delete") for form in _FORMS),
        "Get",
        "List",
    ),
    servicer=SchemaReads,
    key=("tenant", "name"),
    tenant="tenant",
    changed=apply.changed,
    # `_DELETION` does it: the versions of a thousand schemas are too much for one command.
    cascade=False,
    cli=False,
    table=False,
    verbs={
        "Create": Verb(
            apply=apply.create,
            check=validation.check_new,
            examples=(
                pb.CreateSchema(**_PARCEL, kind=pb.SCHEMA_KIND_AVRO, definition=b'"string"'),
                pb.CreateSchema(**_ORDER, kind=_JSON, definition=b"{}"),
            ),
        ),
        "Update": Verb(
            apply=apply.update,
            check=validation.check_update,
            examples=(
                pb.UpdateSchema(**_PARCEL, definition=b'"bytes"'),
                pb.UpdateSchema(**_ORDER, definition=b"[]", expected_version=1),
            ),
        ),
        "Put": Verb(
            apply=apply.put,
            check=validation.check_new,
            examples=(
                pb.PutSchema(**_ORDER, kind=_JSON, definition=b"[1]", description="Orders."),
            ),
        ),
        "Delete": Verb(examples=(pb.DeleteSchema(**_PARCEL),)),
    },
)

BINDING: Final = Resource(
    family=BINDINGS,
    row=pb.SchemaBinding,
    service=_SERVICE,
    serves=("Bind", "BindBatch", "Unbind", "UnbindBatch", "ListBindings"),
    servicer=SchemaReads,
    key=("tenant", "resource", "name"),
    tenant="tenant",
    check_key={"resource": validation.check_resource},
    cascade=False,
    cli=False,
    table=False,
    verbs={
        "Bind": Verb(
            apply=apply.bind, examples=(pb.BindSchema(**_ORDER, resource="topics/orders"),)
        ),
        "Unbind": Verb(
            apply=apply.unbind, examples=(pb.UnbindSchema(**_ORDER, resource="topics/orders"),)
        ),
    },
)


_DELETION: Final = tenant_deletion("schema", [bind(SCHEMA)], tenant_rows(SCHEMA, BINDING), GROUP)


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [SCHEMA, BINDING]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [
        ColumnFamily(name=VERSIONS, group=GROUP, row=pb.SchemaVersion),
        ColumnFamily(name=BOUND, group=GROUP),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return (*QUERIES, *_DELETION.queries)


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return _DELETION.controllers


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return _DELETION.extensions
