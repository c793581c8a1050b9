"""The RPC methods of connectors that are not derived: the node's types check definitions."""

from __future__ import annotations

import json
from asyncio import gather
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Invalid, NodeApi, Rejected
from quorate.plugin.advanced import CheckedItems
from quorate.plugin.batches import in_parts, join_parts, weighed_parts
from quorate.plugin.checking import check_count
from quorate.plugin.resource import read_family
from quorate.v1.batch_pb2 import BatchReply

from quorate_connector import validation
from quorate_connector.families import CONNECTORS, connector_key
from quorate_connector.types.checking import checked, offered, progress_of
from quorate_connector.v1 import connectors_pb2 as pb
from quorate_connector.v1.queries_pb2 import ListVersionsQuery

M = TypeVar("M", pb.CreateConnectorRequest, pb.PutConnectorRequest, pb.UpdateConnectorRequest)

#: Attempts of an update whose connector changes between the read and the write.
_ATTEMPTS: Final = 5
#: The weight limit of a part of a batch: it creates this many tasks, or holds 128 KiB.
_HEAVIEST: Final = 1_000
_BYTES: Final = 128


class Definitions:
    """Checks definitions against their types, and proposes batches part by part."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Create(self, request: M, context: object) -> pb.Connector:
        """Create a connector whose configuration its type accepts; `Put` may replace one."""
        return await self._node.propose(self._settled(request), pb.Connector)

    async def CreateBatch(self, request: Any, context: object) -> BatchReply:
        """Create many connectors; an invalid one does not block the others."""
        return await self._carry_out(request, [self._settled] * len(request.connectors))

    Put = Create
    PutBatch = CreateBatch

    async def Update(self, request: pb.UpdateConnectorRequest, context: object) -> pb.Connector:
        """Change the given fields of a connector's definition."""
        for _ in range(_ATTEMPTS):
            [found] = await self._find(request)
            try:
                return await self._node.propose(self._change(found, request), pb.Connector)
            except Rejected as refusal:
                conflict = refusal
                if conflict.code != "VERSION_CONFLICT" or request.expected_version:
                    raise
        raise conflict

    async def UpdateBatch(self, request: pb.UpdateConnectorsRequest, context: object) -> BatchReply:
        """Change the given fields of many connectors; an invalid one does not block the others."""
        _check_batch(request)
        found = await self._find(*request.connectors)
        return await self._carry_out(request, [partial(self._change, each) for each in found])

    async def RollBack(self, request: pb.RollBackConnectorRequest, context: object) -> pb.Connector:
        """Restore an earlier definition of a connector, if its type still accepts it."""
        validation.check_roll_back(request)
        for version in await self._versions(request, request.version):
            self._settle(version.definition)
        return await self._node.propose(request, pb.Connector)

    async def Delete(self, request: pb.DeleteConnector, context: object) -> Empty:
        """Delete a connector with its tasks."""
        return await self._node.propose(request, Empty)

    async def DeleteBatch(self, request: pb.DeleteConnectorsRequest, context: object) -> BatchReply:
        """Delete many connectors with their tasks."""
        return await self._carry_out(request, [_deletion] * len(request.connectors))

    async def ListVersions(
        self, request: pb.ListVersionsRequest, context: object
    ) -> pb.ListVersionsResponse:
        """List the retained versions of a connector."""
        validation.check_named(request)
        versions = await self._versions(request)
        if not versions:
            raise Rejected(
                "CONNECTOR_NOT_FOUND",
                f"there is no connector {request.name} of tenant {request.tenant}",
            )
        return pb.ListVersionsResponse(versions=versions)

    async def ListTypes(
        self, request: pb.ListTypesRequest, context: object
    ) -> pb.ListTypesResponse:
        """List the connector types that this node's plugins provide."""
        return pb.ListTypesResponse(
            types=[
                pb.ConnectorTypeInfo(
                    name=name, json_schema=json.dumps(known.model.model_json_schema())
                )
                for name, known in sorted(offered(self._node).items())
            ]
        )

    async def _find(self, *named: pb.UpdateConnectorRequest) -> Sequence[pb.Connector | None]:
        keys = [connector_key(each.tenant, each.name) for each in named]
        # A few at a time: each may have a configuration of 64 KiB.
        parts = in_parts(keys, validation.AT_A_TIME)
        found = await gather(
            *(read_family(self._node, CONNECTORS, pb.Connector, part) for part in parts)
        )
        return [connector for part in found for connector in part]

    async def _versions(
        self, named: pb.ListVersionsRequest | pb.RollBackConnectorRequest, version: int = 0
    ) -> Sequence[pb.Version]:
        query = ListVersionsQuery(tenant=named.tenant, name=named.name, version=version)
        return [each async for each in self._node.query(query, pb.Version)]

    def _change(
        self, found: pb.Connector | None, request: pb.UpdateConnectorRequest
    ) -> pb.UpdateConnectorRequest:
        """Return the command of an update, which expects the version of the connector found."""
        validation.UPDATES.check(request)
        connector = validation.UPDATES.write(found or pb.Connector(), request)
        return self._settled(
            pb.UpdateConnectorRequest(
                tenant=request.tenant,
                name=request.name,
                definition=connector.definition,
                expected_version=request.expected_version or connector.version,
                discard_progress=request.discard_progress,
            )
        )

    def _settled(self, request: M) -> M:
        """Return a request with its definition in the stored form, or refuse it."""
        command = type(request)()
        command.CopyFrom(request)
        validation.complete(command.definition)
        validation.check_definition(command)
        self._settle(command.definition)
        return command

    def _settle(self, definition: pb.Definition) -> None:
        """Bring a definition into the stored form, or refuse its configuration."""
        types = offered(self._node)
        definition.config = checked(types, definition.type, definition.config)
        del definition.progress_of[:]
        definition.progress_of.extend(progress_of(types[definition.type], definition.config))
        definition.labels.sort(key=lambda label: label.name)

    async def _carry_out(self, request: Any, settle: Sequence[Callable[[Any], Any]]) -> BatchReply:
        """Propose a batch in parts that a node can each apply in one turn; join the replies.

        An invalid item is refused at its position, and so is a connector that was named before:
        its first item may be in another part.
        """
        _check_batch(request)
        checked = CheckedItems[Any](total=len(request.connectors), valid={}, refusals={})
        first: dict[bytes, int] = {}
        for position, each in enumerate(request.connectors):
            try:
                item = settle[position](each)
                earlier = first.setdefault(connector_key(item.tenant, item.name), position)
                if earlier != position:
                    again = f"names {item.name!r} of tenant {item.tenant!r} a second time"
                    raise Invalid("name", f"{again}, after connectors[{earlier}]; name each once")
            except Invalid as wrong:
                fault = Invalid(f"connectors[{position}].{wrong.field}", wrong.reason)
                checked.refusals[position] = fault
            else:
                checked.valid[position] = item

        async def propose(valid: Sequence[Any]) -> BatchReply:
            parts = weighed_parts(valid, lambda item: (1, _weight(item)), (_HEAVIEST, _HEAVIEST))
            commands = [type(request)(connectors=part) for part in parts]
            return join_parts([await self._node.propose(each, BatchReply) for each in commands])

        return await checked.execute(propose)


def _check_batch(request: Any) -> None:
    check_count("connectors", request.connectors, validation.MOST_CONNECTORS)


def _deletion(item: pb.DeleteConnector) -> pb.DeleteConnector:
    validation.check_named(item)
    return item


def _weight(item: Any) -> int:
    """Return the weight of an item; an existing connector may have many tasks to move."""
    if isinstance(item, pb.DeleteConnector):
        return _HEAVIEST // validation.AT_A_TIME
    known = 0 if isinstance(item, pb.CreateConnectorRequest) else _HEAVIEST // validation.AT_A_TIME
    weight: int = item.definition.tasks_max + item.ByteSize() // _BYTES
    return max(known, weight)
