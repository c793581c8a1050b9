"""The part of the domain in the deletion of a tenant: its schemas and bindings are deleted."""

from typing import Final

from google.protobuf.message import Message

from quorate.builtin.schema.rows import GROUP
from quorate.builtin.tenant.api import TenantCascade, erase_waiting
from quorate.plugin import Controller, Extension, NodeApi, ShardRef
from quorate.plugin.resource.tenants import CASCADES, TENANTS
from quorate.v1 import schema_pb2 as pb

#: The domain's name in the rows of tenants that are being deleted.
CASCADE: Final = "schema"
#: Schemas of one command: each may have a hundred versions.
_SCHEMAS: Final = 20
_BINDINGS: Final = 1_000


async def holds(node: NodeApi, tenant: str) -> bool:
    """Tell whether a tenant has schemas; only these have bindings."""
    page = await _schemas(node, tenant, limit=1)
    return bool(page.schemas)


async def delete_of_tenants(node: NodeApi, shard: ShardRef) -> None:
    """Delete the schemas of every tenant that waits for it."""
    await erase_waiting(node, shard, CASCADE, _erasure)


async def _erasure(node: NodeApi, tenant: str) -> Message | None:
    """Return the next command that deletes something of a tenant; None: nothing is left."""
    query = pb.ListSchemaBindings(tenant=tenant, limit=_BINDINGS)
    [bound] = [page async for page in node.query(query, pb.SchemaBindingPage)]
    if bound.bindings:
        return pb.UnbindSchemas(
            bindings=[
                pb.UnbindSchema(
                    tenant=tenant, resource=each.resource, name=each.name, missing_ok=True
                )
                for each in bound.bindings
            ]
        )
    found = await _schemas(node, tenant, limit=_SCHEMAS)
    if not found.schemas:
        return None
    return pb.DeleteSchemas(
        schemas=[
            pb.DeleteSchema(tenant=tenant, name=each.name, missing_ok=True)
            for each in found.schemas
        ]
    )


async def _schemas(node: NodeApi, tenant: str, *, limit: int) -> pb.SchemaPage:
    query = pb.ListSchemas(tenant=tenant, limit=limit)
    [page] = [page async for page in node.query(query, pb.SchemaPage)]
    return page


DELETION: Final = Controller(
    name="schema.tenant_deletion",
    group=GROUP,
    run_once=delete_of_tenants,
    interval_s=10.0,
    wake_on=(TENANTS,),
)
TAKES_PART: Final = Extension(point=CASCADES, name=CASCADE, value=TenantCascade(holds=holds))
