"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final

from google.protobuf.empty_pb2 import Empty

from quorate.builtin.schema.validation import check_list, check_list_bindings, check_schema
from quorate.plugin import GrpcService, NodeApi, Rejected
from quorate.v1 import schema_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.schema_pb2 import (
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
    Schema,
    SchemaBindingPage,
    SchemaPage,
    SchemaVersion,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)


class SchemaService:
    """Serves schemas on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Create(self, request: CreateSchema, context: object) -> Schema:
        """Make one schema."""
        return await self._node.propose(request, Schema)

    async def CreateBatch(self, request: CreateSchemas, context: object) -> BatchReply:
        """Make many schemas in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Update(self, request: UpdateSchema, context: object) -> Schema:
        """Change what is given of one schema."""
        return await self._node.propose(request, Schema)

    async def UpdateBatch(self, request: UpdateSchemas, context: object) -> BatchReply:
        """Change what is given of many schemas in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Put(self, request: PutSchema, context: object) -> Schema:
        """Make or replace one schema."""
        return await self._node.propose(request, Schema)

    async def PutBatch(self, request: PutSchemas, context: object) -> BatchReply:
        """Make or replace many schemas in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Delete(self, request: DeleteSchema, context: object) -> Empty:
        """Delete one schema that is bound to nothing."""
        return await self._node.propose(request, Empty)

    async def DeleteBatch(self, request: DeleteSchemas, context: object) -> BatchReply:
        """Delete many schemas in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Bind(self, request: BindSchema, context: object) -> Empty:
        """Bind one schema to a resource."""
        return await self._node.propose(request, Empty)

    async def BindBatch(self, request: BindSchemas, context: object) -> BatchReply:
        """Make many bindings in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Unbind(self, request: UnbindSchema, context: object) -> Empty:
        """Take one schema off a resource."""
        return await self._node.propose(request, Empty)

    async def UnbindBatch(self, request: UnbindSchemas, context: object) -> BatchReply:
        """Take many bindings away in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Get(self, request: GetSchema, context: object) -> SchemaVersion:
        """Read one version of a schema."""
        check_schema(request)
        found = [version async for version in self._node.query(request, SchemaVersion)]
        if found:
            return found[0]
        version = f"version {request.version}" if request.version else "version"
        raise Rejected(
            "NOT_FOUND", f"there is no {version} of schema {request.name} of {request.tenant}"
        )

    async def List(self, request: ListSchemas, context: object) -> SchemaPage:
        """List a page of schemas."""
        check_list(request)
        [page] = [page async for page in self._node.query(request, SchemaPage)]
        return page

    async def ListBindings(self, request: ListSchemaBindings, context: object) -> SchemaBindingPage:
        """List a page of bindings."""
        check_list_bindings(request)
        [page] = [page async for page in self._node.query(request, SchemaBindingPage)]
        return page


SCHEMA: Final = GrpcService(
    service=schema_pb2.DESCRIPTOR.services_by_name["SchemaService"],
    servicer=SchemaService,
)
