"""Declarations of the domain: schemas in numbered versions, and their bindings to resources."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.builtin.schema import apply, validation
from quorate.builtin.schema.judging import judge
from quorate.builtin.schema.reads import QUERIES, SchemaReads
from quorate.builtin.schema.rows import BINDINGS, BOUND, GROUP, SCHEMAS, VERSIONS, version_key
from quorate.plugin import (
    Access,
    Admission,
    ColumnFamily,
    Declaration,
    Extension,
    Invalid,
    Life,
    NodeApi,
    Resource,
    Serving,
    Storage,
    Verb,
    View,
    hookimpl,
    keys,
)
from quorate.plugin.advanced import Remake, Stored
from quorate.v1 import schema_pb2 as pb

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["SchemaService"]
#: Of one item, and of many.
_FORMS: Final = ("", "Batch")
_ORDER: Final[dict[str, Any]] = {"tenant": "acme", "name": "order"}
_PARCEL: Final[dict[str, Any]] = {"tenant": "acme", "name": "parcel"}
_JSON: Final = pb.SCHEMA_KIND_JSON


def _newest(schema: pb.Schema, stored: Stored) -> pb.PutSchema:
    """Return the put that creates a schema with its newest definition."""
    version = stored(VERSIONS, version_key(schema.tenant, schema.name, schema.version))
    if version is None:
        raise Invalid("version", f"{schema.version} of {schema.name} does not exist")
    return pb.PutSchema(
        tenant=schema.tenant,
        name=schema.name,
        kind=schema.kind,
        definition=pb.SchemaVersion.FromString(version).definition,
        description=schema.description,
        compatibility=schema.compatibility,
    )


def _bound(binding: pb.SchemaBinding, stored: Stored) -> pb.BindSchema:
    return pb.BindSchema(tenant=binding.tenant, resource=binding.resource, name=binding.name)


SCHEMA: Final[Resource[pb.Schema]] = Resource(
    family=SCHEMAS,
    row=pb.Schema,
    service=_SERVICE,
    serving=Serving(
        methods=(
            *(f"{verb}{form}" for verb in ("Create", "Update", "Put", "Delete") for form in _FORMS),
            "Get",
            "List",
        ),
        servicer=SchemaReads,
        access={
            "Get": Access(right="read", domain=SCHEMAS, tenant="tenant", key="name"),
            "List": Access(right="read", domain=SCHEMAS, tenant="tenant", key="prefix"),
        },
    ),
    key=("tenant", "name"),
    tenant="tenant",
    storage=Storage(changed=apply.changed),
    view=View(remake=Remake(item=_newest), cli=False),
    life=Life(deletions=20),
    verbs={
        "Create": Verb(
            apply=apply.create,
            admission=Admission(admit=judge),
            check=validation.check_new,
            examples=(
                pb.CreateSchema(**_PARCEL, kind=pb.SCHEMA_KIND_AVRO, definition=b'"string"'),
                pb.CreateSchema(**_ORDER, kind=_JSON, definition=b"{}"),
            ),
        ),
        "Update": Verb(
            apply=apply.update,
            admission=Admission(admit=judge),
            check=validation.check_update,
            examples=(
                pb.UpdateSchema(**_PARCEL, definition=b'"bytes"'),
                pb.UpdateSchema(**_ORDER, definition=b"[]", expected_version=1),
            ),
        ),
        "Put": Verb(
            apply=apply.put,
            admission=Admission(admit=judge),
            check=validation.check_new,
            examples=(
                pb.PutSchema(**_ORDER, kind=_JSON, definition=b"[1]", description="Orders."),
            ),
        ),
        "Delete": Verb(examples=(pb.DeleteSchema(**_PARCEL),)),
    },
)


def unbind(_: NodeApi, bindings: Sequence[bytes]) -> pb.UnbindSchemas:
    """Return the command that deletes bindings of a tenant that is being deleted."""
    parts = (map(str, keys.unpack(key)) for key in bindings)
    return pb.UnbindSchemas(
        bindings=[
            pb.UnbindSchema(tenant=tenant, resource=resource, name=name, missing_ok=True)
            for tenant, resource, name in parts
        ]
    )


BINDING: Final = Resource(
    family=BINDINGS,
    row=pb.SchemaBinding,
    service=_SERVICE,
    serving=Serving(
        methods=("Bind", "BindBatch", "Unbind", "UnbindBatch", "ListBindings"),
        servicer=SchemaReads,
        access={
            "ListBindings": Access(right="read", domain=BINDINGS, tenant="tenant", key="resource")
        },
    ),
    key=("tenant", "resource", "name"),
    tenant="tenant",
    check_key={"resource": validation.check_resource},
    life=Life(cascade=unbind),
    view=View(remake=Remake(verb="Bind", item=_bound), cli=False),
    verbs={
        "Bind": Verb(
            apply=apply.bind, examples=(pb.BindSchema(**_ORDER, resource="topics/orders"),)
        ),
        "Unbind": Verb(
            apply=apply.unbind, examples=(pb.UnbindSchema(**_ORDER, resource="topics/orders"),)
        ),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    # A tenant's bindings go before its schemas, which stay while they are bound.
    return [
        *(BINDING, SCHEMA),
        ColumnFamily(name=VERSIONS, group=GROUP, row=pb.SchemaVersion),
        ColumnFamily(name=BOUND, group=GROUP),
        *QUERIES,
        Extension(point="cluster.console_groups", name="schema", value="Messaging"),
    ]
