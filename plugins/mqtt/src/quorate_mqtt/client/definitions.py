"""What tenants define by name: ACL rules, the blacklist, rewrite rules, automatic subscriptions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.v1.acl_rules_pb2 import (
    AclRule,
    AclRulePage,
    AclRuleRequest,
    CreateAclRulesCommand,
    DeleteAclRulesCommand,
    ListAclRulesRequest,
    PutAclRulesCommand,
    UpdateAclRulesCommand,
)
from quorate_mqtt.v1.auto_subscriptions_pb2 import (
    AutoSubscription,
    AutoSubscriptionPage,
    AutoSubscriptionRequest,
    CreateAutoSubscriptionsCommand,
    DeleteAutoSubscriptionsCommand,
    ListAutoSubscriptionsRequest,
    PutAutoSubscriptionsCommand,
    UpdateAutoSubscriptionsCommand,
)
from quorate_mqtt.v1.blacklist_pb2 import (
    BlacklistEntry,
    BlacklistEntryPage,
    BlacklistEntryRequest,
    CreateBlacklistEntriesCommand,
    DeleteBlacklistEntriesCommand,
    ListBlacklistEntriesRequest,
    PutBlacklistEntriesCommand,
    UpdateBlacklistEntriesCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    CreateRewriteRulesCommand,
    DeleteRewriteRulesCommand,
    ListRewriteRulesRequest,
    PutRewriteRulesCommand,
    RewriteRule,
    RewriteRulePage,
    RewriteRuleRequest,
    UpdateRewriteRulesCommand,
)

D = TypeVar("D", bound=Message)
L = TypeVar("L", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[D, L]):
    """The messages with which one kind of definitions is written and read."""

    #: As calls name it, `/package.Service/`.
    service: str
    definition: type[D]
    request: type[Message]
    creation: Batch[D]
    update: Batch[D]
    put: Batch[D]
    deletion: Batch[DefinitionName]
    listing: Listing[L, Any, D]


class Definitions(Generic[D, L]):
    """Writes and reads the definitions of one kind; each has a tenant and a name."""

    def __init__(self, q: AsyncClient, kind: Kind[D, L]) -> None:
        self._q: Final = q
        self._kind: Final = kind

    async def create(self, definition: D) -> D:
        """Make a definition, and return it with its times; ALREADY_EXISTS if there is one."""
        return await self._write("Create", definition)

    async def update(self, definition: D, *, fields: Iterable[str] = ()) -> D:
        """Change what is given of a definition, and return it; NOT_FOUND if there is none.

        Given is what is not empty, or what `fields` names.
        """
        return await self._write("Update", definition, fields)

    async def put(self, definition: D) -> D:
        """Make a definition or replace all that it says, and return it with its times."""
        return await self._write("Put", definition)

    async def delete(self, tenant: str, name: str, *, missing_ok: bool = False) -> None:
        """Delete a definition; NOT_FOUND if there is none, unless `missing_ok`."""
        named = DefinitionName(tenant=tenant, name=name, missing_ok=missing_ok)
        await self._q.call(
            f"{self._kind.service}Delete",
            named,
            Empty,
            group=GROUP,
            shard_key=tenant_shard(tenant),
        )

    async def get(self, tenant: str, name: str) -> D | None:
        """Return a definition; None if there is none."""
        return await reading.get(
            self._q,
            f"{self._kind.service}Get",
            DefinitionName(tenant=tenant, name=name),
            self._kind.definition,
            shard_key=tenant_shard(tenant),
        )

    async def list(self, request: L) -> AsyncGenerator[D, None]:
        """Yield the definitions that fit, in the order of tenants and names."""
        async for definition in self._kind.listing.read(self._q, request):
            yield definition

    async def create_many(self, definitions: Iterable[D]) -> BatchReply:
        """Make many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, self._kind.creation.of, definitions)

    async def update_many(
        self, definitions: Iterable[D], *, fields: Iterable[str] = ()
    ) -> BatchReply:
        """Change what is given of many, as `update` does; the reply names those refused."""
        given = self._kind.update.message(update_mask=FieldMask(paths=fields))
        return await batching.execute(
            self._q, lambda part: self._kind.update.of(part, given), definitions
        )

    async def put_many(self, definitions: Iterable[D]) -> BatchReply:
        """Make or replace many; the reply names those that were refused."""
        return await batching.execute(self._q, self._kind.put.of, definitions)

    async def delete_many(
        self, tenant: str, names: Iterable[str], *, missing_ok: bool = False
    ) -> BatchReply:
        """Delete many of a tenant; the reply names those that were refused."""
        named = (DefinitionName(tenant=tenant, name=name, missing_ok=missing_ok) for name in names)
        return await batching.execute(self._q, self._kind.deletion.of, named)

    async def _write(self, method: str, definition: D, fields: Iterable[str] = ()) -> D:
        return await self._q.call(
            f"{self._kind.service}{method}",
            self._kind.request(definition=definition, update_mask=FieldMask(paths=fields)),
            self._kind.definition,
        )


class SyncDefinitions(Blocking[Definitions[D, L]], Generic[D, L]):
    """The same, without `await`."""

    create = blocking(Definitions.create)
    update = blocking(Definitions.update)
    put = blocking(Definitions.put)
    delete = blocking(Definitions.delete)
    get = blocking(Definitions.get)
    list = iterating(Definitions.list)
    create_many = blocking(Definitions.create_many)
    update_many = blocking(Definitions.update_many)
    put_many = blocking(Definitions.put_many)
    delete_many = blocking(Definitions.delete_many)


_PACKAGE: Final = "/quorate_mqtt.v1."

ACL_RULES: Final[Kind[AclRule, ListAclRulesRequest]] = Kind(
    service=f"{_PACKAGE}AclRuleService/",
    definition=AclRule,
    request=AclRuleRequest,
    creation=Batch(message=CreateAclRulesCommand, field="rules"),
    update=Batch(message=UpdateAclRulesCommand, field="rules"),
    put=Batch(message=PutAclRulesCommand, field="rules"),
    deletion=Batch(message=DeleteAclRulesCommand, field="names"),
    listing=Listing(
        method=f"{_PACKAGE}AclRuleService/List",
        page=AclRulePage,
        rows=lambda page: (page.rules, page.next_page_token),
    ),
)

BLACKLIST: Final[Kind[BlacklistEntry, ListBlacklistEntriesRequest]] = Kind(
    service=f"{_PACKAGE}BlacklistService/",
    definition=BlacklistEntry,
    request=BlacklistEntryRequest,
    creation=Batch(message=CreateBlacklistEntriesCommand, field="entries"),
    update=Batch(message=UpdateBlacklistEntriesCommand, field="entries"),
    put=Batch(message=PutBlacklistEntriesCommand, field="entries"),
    deletion=Batch(message=DeleteBlacklistEntriesCommand, field="names"),
    listing=Listing(
        method=f"{_PACKAGE}BlacklistService/List",
        page=BlacklistEntryPage,
        rows=lambda page: (page.entries, page.next_page_token),
    ),
)

REWRITE_RULES: Final[Kind[RewriteRule, ListRewriteRulesRequest]] = Kind(
    service=f"{_PACKAGE}RewriteRuleService/",
    definition=RewriteRule,
    request=RewriteRuleRequest,
    creation=Batch(message=CreateRewriteRulesCommand, field="rules"),
    update=Batch(message=UpdateRewriteRulesCommand, field="rules"),
    put=Batch(message=PutRewriteRulesCommand, field="rules"),
    deletion=Batch(message=DeleteRewriteRulesCommand, field="names"),
    listing=Listing(
        method=f"{_PACKAGE}RewriteRuleService/List",
        page=RewriteRulePage,
        rows=lambda page: (page.rules, page.next_page_token),
    ),
)

AUTO_SUBSCRIPTIONS: Final[Kind[AutoSubscription, ListAutoSubscriptionsRequest]] = Kind(
    service=f"{_PACKAGE}AutoSubscriptionService/",
    definition=AutoSubscription,
    request=AutoSubscriptionRequest,
    creation=Batch(message=CreateAutoSubscriptionsCommand, field="subscriptions"),
    update=Batch(message=UpdateAutoSubscriptionsCommand, field="subscriptions"),
    put=Batch(message=PutAutoSubscriptionsCommand, field="subscriptions"),
    deletion=Batch(message=DeleteAutoSubscriptionsCommand, field="names"),
    listing=Listing(
        method=f"{_PACKAGE}AutoSubscriptionService/List",
        page=AutoSubscriptionPage,
        rows=lambda page: (page.subscriptions, page.next_page_token),
    ),
)
