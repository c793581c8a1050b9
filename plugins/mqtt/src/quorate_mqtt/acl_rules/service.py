"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.acl_rules.families import ACL_RULES
from quorate_mqtt.acl_rules.writes import WRITES
from quorate_mqtt.definitions.service import Named, Written
from quorate_mqtt.names import check_choice, check_identity
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.v1 import acl_rules_pb2
from quorate_mqtt.v1.acl_rules_pb2 import (
    AclRule,
    AclRuleLookup,
    AclRuleLookups,
    AclRulePage,
    AclRuleRequest,
    AclSubject,
    CreateAclRulesCommand,
    DeleteAclRulesCommand,
    ListAclRulesRequest,
    PutAclRulesCommand,
    UpdateAclRulesCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest


class AclRuleServicer:
    """Serves ACL rules on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._written: Final = Written(node=node, kind=ACL_RULES, writes=WRITES)
        self._named: Final = Named(node=node, kind=ACL_RULES)

    async def Create(self, request: AclRuleRequest, context: object) -> AclRule:
        """Make one."""
        return await self._written.create(request.definition)

    async def CreateBatch(self, request: CreateAclRulesCommand, context: object) -> BatchReply:
        """Make many in one proposal a shard."""
        return await self._written.create_each(request)

    async def Update(self, request: AclRuleRequest, context: object) -> AclRule:
        """Change what is given of one."""
        return await self._written.update(request.definition, request.update_mask)

    async def UpdateBatch(self, request: UpdateAclRulesCommand, context: object) -> BatchReply:
        """Change what is given of many in one proposal a shard."""
        return await self._written.update_each(request)

    async def Put(self, request: AclRuleRequest, context: object) -> AclRule:
        """Make or replace one."""
        return await self._written.put(request.definition)

    async def PutBatch(self, request: PutAclRulesCommand, context: object) -> BatchReply:
        """Make or replace many in one proposal a shard."""
        return await self._written.put_each(request)

    async def Delete(self, request: DefinitionName, context: object) -> Empty:
        """Delete one."""
        return await self._named.delete(request)

    async def DeleteBatch(self, request: DeleteAclRulesCommand, context: object) -> BatchReply:
        """Delete many in one proposal a shard."""
        return await self._named.delete_each(request)

    async def Get(self, request: DefinitionName, context: object) -> AclRule:
        """Read one."""
        return await self._named.get(request)

    async def GetBatch(self, request: GetDefinitionsRequest, context: object) -> AclRuleLookups:
        """Read many, in the order of the request."""
        found = await self._named.get_each(request)
        return AclRuleLookups(lookups=[AclRuleLookup(definition=each) for each in found])

    async def List(self, request: ListAclRulesRequest, context: object) -> AclRulePage:
        """List a page."""
        page, token = await ACL_RULES.shelf.page(self._node, Range.of(request), _wanted(request))
        return AclRulePage(rules=page, next_page_token=token)

    async def StreamList(
        self, request: ListAclRulesRequest, context: object
    ) -> AsyncIterator[AclRulePage]:
        """List page by page, to the end."""
        pages = ACL_RULES.shelf.pages(self._node, Range.of(request), _wanted(request))
        async for page, token in pages:
            yield AclRulePage(rules=page, next_page_token=token)


def _wanted(request: ListAclRulesRequest) -> Callable[[AclRule], bool] | None:
    if not request.subject_kind and not request.subject:
        return None
    if request.subject_kind:
        check_choice("subject_kind", request.subject_kind, AclSubject)
    if request.subject:
        check_identity("subject", request.subject)
    return lambda row: (
        (not request.subject_kind or row.subject_kind == request.subject_kind)
        and (not request.subject or row.subject == request.subject)
    )


SERVICE: Final = GrpcService(
    service=acl_rules_pb2.DESCRIPTOR.services_by_name["AclRuleService"],
    servicer=AclRuleServicer,
)
