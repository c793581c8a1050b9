"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.definitions.service import Named, Written
from quorate_mqtt.names import check_choice
from quorate_mqtt.rewrite_rules.families import REWRITE_RULES
from quorate_mqtt.rewrite_rules.writes import WRITES
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.v1 import rewrite_rules_pb2
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    CreateRewriteRulesCommand,
    DeleteRewriteRulesCommand,
    ListRewriteRulesRequest,
    PutRewriteRulesCommand,
    RewriteAction,
    RewriteRule,
    RewriteRuleLookup,
    RewriteRuleLookups,
    RewriteRulePage,
    RewriteRuleRequest,
    UpdateRewriteRulesCommand,
)


class RewriteRuleServicer:
    """Serves rewrite rules on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._written: Final = Written(node=node, kind=REWRITE_RULES, writes=WRITES)
        self._named: Final = Named(node=node, kind=REWRITE_RULES)

    async def Create(self, request: RewriteRuleRequest, context: object) -> RewriteRule:
        """Make one."""
        return await self._written.create(request.definition)

    async def CreateBatch(self, request: CreateRewriteRulesCommand, context: object) -> BatchReply:
        """Make many in one proposal a shard."""
        return await self._written.create_each(request)

    async def Update(self, request: RewriteRuleRequest, context: object) -> RewriteRule:
        """Change what is given of one."""
        return await self._written.update(request.definition, request.update_mask)

    async def UpdateBatch(self, request: UpdateRewriteRulesCommand, context: object) -> BatchReply:
        """Change what is given of many in one proposal a shard."""
        return await self._written.update_each(request)

    async def Put(self, request: RewriteRuleRequest, context: object) -> RewriteRule:
        """Make or replace one."""
        return await self._written.put(request.definition)

    async def PutBatch(self, request: PutRewriteRulesCommand, context: object) -> BatchReply:
        """Make or replace many in one proposal a shard."""
        return await self._written.put_each(request)

    async def Delete(self, request: DefinitionName, context: object) -> Empty:
        """Delete one."""
        return await self._named.delete(request)

    async def DeleteBatch(self, request: DeleteRewriteRulesCommand, context: object) -> BatchReply:
        """Delete many in one proposal a shard."""
        return await self._named.delete_each(request)

    async def Get(self, request: DefinitionName, context: object) -> RewriteRule:
        """Read one."""
        return await self._named.get(request)

    async def GetBatch(self, request: GetDefinitionsRequest, context: object) -> RewriteRuleLookups:
        """Read many, in the order of the request."""
        found = await self._named.get_each(request)
        return RewriteRuleLookups(lookups=[RewriteRuleLookup(definition=each) for each in found])

    async def List(self, request: ListRewriteRulesRequest, context: object) -> RewriteRulePage:
        """List a page."""
        page, token = await REWRITE_RULES.shelf.page(
            self._node, Range.of(request), _wanted(request)
        )
        return RewriteRulePage(rules=page, next_page_token=token)

    async def StreamList(
        self, request: ListRewriteRulesRequest, context: object
    ) -> AsyncIterator[RewriteRulePage]:
        """List page by page, to the end."""
        pages = REWRITE_RULES.shelf.pages(self._node, Range.of(request), _wanted(request))
        async for page, token in pages:
            yield RewriteRulePage(rules=page, next_page_token=token)


def _wanted(request: ListRewriteRulesRequest) -> Callable[[RewriteRule], bool] | None:
    if not request.action:
        return None
    check_choice("action", request.action, RewriteAction)
    return lambda row: row.action == request.action


SERVICE: Final = GrpcService(
    service=rewrite_rules_pb2.DESCRIPTOR.services_by_name["RewriteRuleService"],
    servicer=RewriteRuleServicer,
)
