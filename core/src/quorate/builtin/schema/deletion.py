"""The part of the domain in the deletion of a tenant: its bindings go, and then its schemas."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

from google.protobuf.message import Message

from quorate.plugin import NodeApi, keys
from quorate.plugin.resource import Resource, bind, tenant_rows_of
from quorate.plugin.resource.reading import Reads
from quorate.plugin.resource.tenants import TenantRows
from quorate.v1 import schema_pb2 as pb

#: Schemas of one command: each may have a hundred versions.
_SCHEMAS: Final = 20


def tenant_rows(
    schemas: Resource[pb.Schema], bindings: Resource[pb.SchemaBinding]
) -> tuple[TenantRows, TenantRows]:
    """Return how the rows of a tenant are found and deleted."""
    whole, bound = tenant_rows_of(schemas), Reads(bind(bindings))

    async def few(node: NodeApi, tenant: str) -> AsyncIterator[Sequence[bytes]]:
        async for page in whole.keys_of(node, tenant):
            for first in range(0, len(page), _SCHEMAS):
                yield page[first : first + _SCHEMAS]

    bound_rows = TenantRows(keys_of=bound.keys_of, erase=_unbind)
    return bound_rows, replace(whole, keys_of=few)


def _unbind(_: NodeApi, found: Sequence[bytes]) -> Message:
    bindings = []
    for key in found:
        tenant, resource, name = map(str, keys.unpack(key))
        bindings.append(
            pb.UnbindSchema(tenant=tenant, resource=resource, name=name, missing_ok=True)
        )
    return pb.UnbindSchemas(bindings=bindings)
