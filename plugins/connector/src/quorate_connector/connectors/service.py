"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.plugin import Consistency, GrpcService, Invalid, NodeApi, Rejected, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector.connectors import validation
from quorate_connector.connectors.parts import carry_out, check_batch
from quorate_connector.names import check_name
from quorate_connector.types.checking import checked, offered
from quorate_connector.types.progress import progress_of
from quorate_connector.v1 import connectors_pb2_grpc
from quorate_connector.v1.connector_queries_pb2 import (
    ConnectorPage,
    GetConnectorQuery,
    ListConnectorsQuery,
    ListVersionsQuery,
)
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    ConnectorName,
    ConnectorTypeInfo,
    CreateConnector,
    CreateConnectorRequest,
    CreateConnectors,
    CreateConnectorsRequest,
    Definition,
    DeleteConnector,
    DeleteConnectors,
    DeleteConnectorsRequest,
    GetConnectorRequest,
    ListConnectorsRequest,
    ListConnectorsResponse,
    ListTypesRequest,
    ListTypesResponse,
    ListVersionsRequest,
    ListVersionsResponse,
    RestartTasks,
    RollBackConnector,
    RollBackConnectorRequest,
    SetConnectorTarget,
    UpdateConnector,
    UpdateConnectorRequest,
    UpdateConnectors,
    UpdateConnectorsRequest,
    Version,
)

M = TypeVar("M", bound=Message)
C = TypeVar("C", bound=Message)

PAGE: Final = 100
LARGEST_PAGE: Final = 1_000
#: Longer than any key of a connector.
_LONGEST_TOKEN: Final = 1_024


class Reading(Protocol):
    """A request that says how new its answer has to be."""

    @property
    def stale(self) -> bool:
        """Any replica answers, as of what it has applied."""


class ConnectorServicer(connectors_pb2_grpc.ConnectorServiceServicer):
    """Serves connectors on every node, whether it holds a replica of their rows or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Create(self, request: CreateConnectorRequest, context: object) -> Connector:
        """Make a connector whose configuration is what its type wants."""
        return await self._node.propose(self._creation(request), Connector)

    async def CreateBatch(self, request: CreateConnectorsRequest, context: object) -> BatchReply:
        """Make many connectors; a wrong one does not keep the others from it."""
        check_batch(request.connectors)
        wanted = [_or_invalid(self._creation, each) for each in request.connectors]
        return await carry_out(self._node, wanted, lambda part: CreateConnectors(connectors=part))

    async def Update(self, request: UpdateConnectorRequest, context: object) -> Connector:
        """Give a connector another definition."""
        return await self._node.propose(self._change(request), Connector)

    async def UpdateBatch(self, request: UpdateConnectorsRequest, context: object) -> BatchReply:
        """Give many connectors another definition; a wrong one does not keep the others from it."""
        check_batch(request.connectors)
        wanted = [_or_invalid(self._change, each) for each in request.connectors]
        return await carry_out(self._node, wanted, lambda part: UpdateConnectors(connectors=part))

    async def RollBack(self, request: RollBackConnectorRequest, context: object) -> Connector:
        """Give a connector an earlier definition, if that is still what its type wants."""
        command = RollBackConnector(
            tenant=request.tenant,
            name=request.name,
            version=request.version,
            discard_progress=request.discard_progress,
        )
        validation.check_roll_back(command)
        query = ListVersionsQuery(tenant=request.tenant, name=request.name, version=request.version)
        async for version in self._node.query(query, Version):
            self._settled(version.definition)
        return await self._node.propose(command, Connector)

    async def Delete(self, request: DeleteConnector, context: object) -> Empty:
        """Delete a connector with its tasks."""
        return await self._node.propose(request, Empty)

    async def DeleteBatch(self, request: DeleteConnectorsRequest, context: object) -> BatchReply:
        """Delete many connectors with their tasks."""
        check_batch(request.connectors)
        wanted = [_or_invalid(_deletion, each) for each in request.connectors]
        return await carry_out(self._node, wanted, lambda part: DeleteConnectors(connectors=part))

    async def Get(self, request: GetConnectorRequest, context: object) -> Connector:
        """Read one connector."""
        validation.check_named(request)
        found = self._node.query(
            GetConnectorQuery(tenant=request.tenant, name=request.name),
            Connector,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        async for connector in found:
            return connector
        raise _not_found(request)

    async def List(self, request: ListConnectorsRequest, context: object) -> ListConnectorsResponse:
        """List a page of the connectors that fit."""
        start, end = _bounds(request)
        query = ListConnectorsQuery(
            start=start,
            end=end,
            type=request.type,
            limit=request.page_size or PAGE,
        )
        pages = self._node.query(
            query,
            ConnectorPage,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        [page] = [page async for page in pages]
        return ListConnectorsResponse(connectors=page.connectors, next_page_token=page.next_start)

    async def ListVersions(
        self, request: ListVersionsRequest, context: object
    ) -> ListVersionsResponse:
        """List the versions of a connector that are kept."""
        validation.check_named(request)
        query = ListVersionsQuery(tenant=request.tenant, name=request.name)
        versions = [version async for version in self._node.query(query, Version)]
        if not versions:
            raise _not_found(request)
        return ListVersionsResponse(versions=versions)

    async def SetTarget(self, request: SetConnectorTarget, context: object) -> Connector:
        """Say what the tasks of a connector are to do."""
        return await self._node.propose(request, Connector)

    async def Restart(self, request: RestartTasks, context: object) -> Connector:
        """Start tasks again."""
        return await self._node.propose(request, Connector)

    async def ListTypes(self, request: ListTypesRequest, context: object) -> ListTypesResponse:
        """List the types that this node's plugins offer."""
        types = offered(self._node)
        return ListTypesResponse(
            types=[
                ConnectorTypeInfo(
                    name=name, json_schema=json.dumps(types[name].model.model_json_schema())
                )
                for name in sorted(types)
            ]
        )

    def _creation(self, request: CreateConnectorRequest) -> CreateConnector:
        command = CreateConnector(
            tenant=request.tenant,
            name=request.name,
            definition=validation.completed(request.definition),
            target=request.target,
        )
        validation.check_create(command)
        command.definition.CopyFrom(self._settled(command.definition))
        return command

    def _change(self, request: UpdateConnectorRequest) -> UpdateConnector:
        command = UpdateConnector(
            tenant=request.tenant,
            name=request.name,
            definition=validation.completed(request.definition),
            expected_version=request.expected_version,
            discard_progress=request.discard_progress,
        )
        validation.check_update(command)
        command.definition.CopyFrom(self._settled(command.definition))
        return command

    def _settled(self, definition: Definition) -> Definition:
        """Return a definition in the form that is stored, or refuse its configuration."""
        settled = Definition()
        settled.CopyFrom(definition)
        types = offered(self._node)
        settled.config = checked(types, definition.type, definition.config)
        del settled.progress_of[:]
        settled.progress_of.extend(progress_of(types[definition.type], settled.config))
        settled.labels.sort(key=lambda label: label.name)
        return settled


def _deletion(named: ConnectorName) -> DeleteConnector:
    validation.check_named(named)
    return DeleteConnector(tenant=named.tenant, name=named.name)


def _or_invalid(command_of: Callable[[M], C], request: M) -> C | Invalid:
    try:
        return command_of(request)
    except Invalid as error:
        return error


def _bounds(request: ListConnectorsRequest) -> tuple[bytes, bytes]:
    """Return where the rows begin and end that were not given yet."""
    if request.tenant:
        check_name("tenant", request.tenant)
    elif request.name_prefix:
        raise Invalid("name_prefix", "must be empty when no tenant is given")
    if request.name_prefix:
        check_name("name_prefix", request.name_prefix)
    if request.type:
        check_name("type", request.type)
    if request.page_size > LARGEST_PAGE:
        raise Invalid("page_size", f"must be at most {LARGEST_PAGE}, not {request.page_size}")
    if len(request.page_token) > _LONGEST_TOKEN:
        raise Invalid("page_token", "is none that a page was answered with")
    if request.name_prefix:
        start, end = keys.opening(request.tenant, request.name_prefix)
    elif request.tenant:
        start, end = keys.prefix(request.tenant)
    else:
        start, end = keys.prefix()
    start = max(start, request.page_token)
    return start, max(start, end)


def _consistency(request: Reading) -> Consistency:
    return "stale" if request.stale else "linearizable"


def _not_found(named: validation.Named) -> Rejected:
    return Rejected(
        "CONNECTOR_NOT_FOUND", f"there is no connector {named.name} of tenant {named.tenant}"
    )


SERVICE: Final = GrpcService(
    full_name="quorate_connector.v1.ConnectorService",
    add_to_server=connectors_pb2_grpc.add_ConnectorServiceServicer_to_server,
    servicer=ConnectorServicer,
)
