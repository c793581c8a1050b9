"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from __future__ import annotations

import json
from asyncio import gather
from collections.abc import Callable
from functools import partial
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
from quorate_connector.v1 import connectors_pb2
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
    PutConnector,
    PutConnectorRequest,
    PutConnectors,
    PutConnectorsRequest,
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
#: Updates that are made anew because the connector has changed between the read and the write.
_ATTEMPTS: Final = 5


class Reading(Protocol):
    """A request that says how new its answer has to be."""

    @property
    def stale(self) -> bool:
        """Any replica answers, as of what it has applied."""


class ConnectorServicer:
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
        """Change what is given of a connector's definition."""
        for _ in range(_ATTEMPTS):
            change = self._change(request, await self._find(request))
            try:
                return await self._node.propose(change, Connector)
            except Rejected as refusal:
                conflict = refusal
                if conflict.code != "VERSION_CONFLICT" or request.expected_version:
                    raise
        raise conflict

    async def UpdateBatch(self, request: UpdateConnectorsRequest, context: object) -> BatchReply:
        """Change what is given of many; a wrong one does not keep the others from it."""
        check_batch(request.connectors)
        found = await gather(*map(self._find, request.connectors))
        pairs = zip(request.connectors, found, strict=True)
        wanted = [
            _or_invalid(partial(self._change, found=connector), each) for each, connector in pairs
        ]
        return await carry_out(self._node, wanted, lambda part: UpdateConnectors(connectors=part))

    async def Put(self, request: PutConnectorRequest, context: object) -> Connector:
        """Make a connector, or give the one that is there another definition."""
        return await self._node.propose(self._put(request), Connector)

    async def PutBatch(self, request: PutConnectorsRequest, context: object) -> BatchReply:
        """Make or replace many connectors; a wrong one does not keep the others from it."""
        check_batch(request.connectors)
        wanted = [_or_invalid(self._put, each) for each in request.connectors]
        return await carry_out(self._node, wanted, lambda part: PutConnectors(connectors=part))

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
        found = await self._find(request, _consistency(request), request.min_revision)
        if found is None:
            raise _not_found(request)
        return found

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

    def _put(self, request: PutConnectorRequest) -> PutConnector:
        command = PutConnector(
            tenant=request.tenant,
            name=request.name,
            definition=validation.completed(request.definition),
            target=request.target,
            discard_progress=request.discard_progress,
        )
        validation.check_create(command)
        command.definition.CopyFrom(self._settled(command.definition))
        return command

    def _change(self, request: UpdateConnectorRequest, found: Connector | None) -> UpdateConnector:
        """Return the command for what an update leads to, if that is still the connector found."""
        validation.UPDATES.check(request)
        connector = validation.UPDATES.write(found or Connector(), request)
        command = UpdateConnector(
            tenant=request.tenant,
            name=request.name,
            definition=validation.completed(connector.definition),
            expected_version=request.expected_version or connector.version,
            discard_progress=request.discard_progress,
        )
        validation.check_update(command)
        command.definition.CopyFrom(self._settled(command.definition))
        return command

    async def _find(
        self,
        named: validation.Named,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> Connector | None:
        query = GetConnectorQuery(tenant=named.tenant, name=named.name)
        found = self._node.query(
            query, Connector, consistency=consistency, min_revision=min_revision
        )
        return next(iter([connector async for connector in found]), None)

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
    return DeleteConnector(tenant=named.tenant, name=named.name, missing_ok=named.missing_ok)


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
    service=connectors_pb2.DESCRIPTOR.services_by_name["ConnectorService"],
    servicer=ConnectorServicer,
)
