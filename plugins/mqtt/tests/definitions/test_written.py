"""What holds for every kind of definitions that is written as it is given."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryNode
from quorate.v1.tenant_pb2 import MarkTenant, Tenant
from quorate_mqtt.v1 import (
    acl_rules_pb2 as acl,
    auto_subscriptions_pb2 as auto,
    blacklist_pb2 as blacklist,
    rewrite_rules_pb2 as rewrite,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest


@dataclass(frozen=True)
class Case:
    """A kind: its service, its messages, and a definition without a name."""

    service: str
    messages: Any
    row: str
    plural: str
    field: str
    definition: Any

    def make(self, name: str, tenant: str = "acme", **fields: Any) -> Any:
        made = type(self.definition)(tenant=tenant, name=name, **fields)
        made.MergeFrom(self.definition)
        return made

    def request(self, definition: Any, *fields: str) -> Any:
        request = getattr(self.messages, f"{self.row}Request")(definition=definition)
        request.update_mask.paths.extend(fields)
        return request

    def batch(self, verb: str, *items: Any) -> Any:
        message = getattr(self.messages, f"{verb}{self.plural}")
        return message(**{"names" if verb == "Delete" else self.field: items})

    def listing(self, **fields: Any) -> Any:
        return getattr(self.messages, f"List{self.plural}Request")(**fields)

    def names(self, page: Any) -> list[tuple[str, str]]:
        return [(each.tenant, each.name) for each in getattr(page, self.field)]


CASES = [
    Case(
        "AclRuleService",
        acl,
        "AclRule",
        "AclRules",
        "rules",
        acl.AclRule(
            subject_kind=acl.ACL_SUBJECT_USER,
            subject="ada",
            topic="a/#",
            action=acl.ACL_ACTION_ALL,
            permission=acl.ACL_PERMISSION_DENY,
        ),
    ),
    Case(
        "BlacklistService",
        blacklist,
        "BlacklistEntry",
        "BlacklistEntries",
        "entries",
        blacklist.BlacklistEntry(kind=blacklist.BLACKLIST_KIND_USER, subject="ada"),
    ),
    Case(
        "RewriteRuleService",
        rewrite,
        "RewriteRule",
        "RewriteRules",
        "rules",
        rewrite.RewriteRule(
            action=rewrite.REWRITE_ACTION_ALL,
            source_topic="x/#",
            target_topic="y/$1",
            expression="^x/(.+)$",
        ),
    ),
    Case(
        "AutoSubscriptionService",
        auto,
        "AutoSubscription",
        "AutoSubscriptions",
        "subscriptions",
        auto.AutoSubscription(topic="inbox/%c", qos=1),
    ),
]
every_kind = pytest.mark.parametrize("case", CASES, ids=lambda case: case.row)
Servicer = Callable[[str], Any]


@every_kind
def test_create_answers_with_the_row_and_its_times(case: Case, servicer: Servicer) -> None:
    made = run(servicer(case.service).Create(case.request(case.make("one")), None))

    assert made == case.make("one", created_at_ms=1_000, updated_at_ms=1_000)


@every_kind
def test_times_that_a_client_gives_are_not_taken(case: Case, servicer: Servicer) -> None:
    forged = case.make("one", created_at_ms=7, updated_at_ms=8)

    made = run(servicer(case.service).Create(case.request(forged), None))

    assert (made.created_at_ms, made.updated_at_ms) == (1_000, 1_000)


@every_kind
def test_create_of_an_existing_one_says_already_exists(case: Case, servicer: Servicer) -> None:
    service = servicer(case.service)
    run(service.Create(case.request(case.make("one", description="first")), None))

    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        run(service.Create(case.request(case.make("one", description="second")), None))

    kept = run(service.Get(DefinitionName(tenant="acme", name="one"), None))
    assert kept.description == "first"


@every_kind
def test_names_are_unique_in_their_tenant_alone(case: Case, servicer: Servicer) -> None:
    service = servicer(case.service)
    for tenant in ("acme", "globex"):
        run(service.Create(case.request(case.make("one", tenant)), None))

    run(service.Delete(DefinitionName(tenant="acme", name="one"), None))

    assert case.names(run(service.List(case.listing(), None))) == [("globex", "one")]


@every_kind
def test_an_unknown_tenant_has_no_definitions(case: Case, servicer: Servicer) -> None:
    with pytest.raises(Rejected, match=r"NOT_FOUND.*tenant nobody"):
        run(servicer(case.service).Create(case.request(case.make("one", "nobody")), None))


@every_kind
def test_a_tenant_that_is_being_deleted_takes_no_definition(
    case: Case, servicer: Servicer, node: MemoryNode
) -> None:
    run(node.propose(MarkTenant(name="acme", cascades=["mqtt"]), Tenant))

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*being deleted"):
        run(servicer(case.service).Create(case.request(case.make("one")), None))


@every_kind
def test_put_creates_and_replaces_and_keeps_the_time_of_creation(
    case: Case, servicer: Servicer, node: MemoryNode
) -> None:
    service = servicer(case.service)
    run(service.Put(case.request(case.make("one", description="first")), None))
    run(node.advance(500))

    updated = run(service.Put(case.request(case.make("one")), None))

    assert updated == case.make("one", created_at_ms=1_000, updated_at_ms=1_500)
    assert run(service.Get(DefinitionName(tenant="acme", name="one"), None)) == updated


@every_kind
def test_update_changes_what_is_given_alone(
    case: Case, servicer: Servicer, node: MemoryNode
) -> None:
    service = servicer(case.service)
    before = run(service.Create(case.request(case.make("one", description="first")), None))
    run(node.advance(500))
    named = type(case.definition)(tenant="acme", name="one")
    described = type(case.definition)(tenant="acme", name="one", description="second")

    second = run(service.Update(case.request(described), None))
    before.description, before.updated_at_ms = "second", 1_500
    assert second == before
    before.description = ""
    assert run(service.Update(case.request(named, "description"), None)) == before
    batch = case.batch("Update", described, case.make("none"))
    batch.update_mask.paths.append("description")
    reply = run(service.UpdateBatch(batch, None))
    before.description = "second"
    assert type(before).FromString(reply.replies[0]) == before
    assert [each.item for each in reply.refusals] == [1]


@every_kind
def test_update_refuses_what_no_definition_can_be(case: Case, servicer: Servicer) -> None:
    service = servicer(case.service)
    run(service.Create(case.request(case.make("one")), None))
    named = type(case.definition)(tenant="acme", name="one")
    [needed] = {"topic", "subject", "source_topic"} & {
        field.name for field, _ in case.definition.ListFields()
    } - ({"topic"} if case.row == "AclRule" else set())

    for field in ("name", "created_at_ms", "nothing"):
        with pytest.raises(Invalid, match=f"update_mask: names '{field}', and may name descr"):
            run(service.Update(case.request(named, field), None))
    with pytest.raises((Invalid, Rejected), match=f"{needed}: "):
        run(service.Update(case.request(named, needed), None))
    long = type(case.definition)(tenant="acme", name="one", description="d" * 1_025)
    with pytest.raises(Invalid, match=r"definition\.description: must have at most"):
        run(service.Update(case.request(long), None))


@every_kind
def test_a_delete_of_nothing_is_no_failure_where_that_is_asked_for(
    case: Case, servicer: Servicer
) -> None:
    named = DefinitionName(tenant="acme", name="one", missing_ok=True)

    run(servicer(case.service).Delete(named, None))


@every_kind
@pytest.mark.parametrize("verb", ["Update", "Delete", "Get"])
def test_what_is_not_there_is_not_found(case: Case, verb: str, servicer: Servicer) -> None:
    named = DefinitionName(tenant="acme", name="one")
    request = case.request(case.make("one")) if verb == "Update" else named

    with pytest.raises(Rejected, match=r"NOT_FOUND.*one of acme"):
        run(getattr(servicer(case.service), verb)(request, None))


@every_kind
def test_a_batch_is_answered_item_by_item_over_all_shards(case: Case, servicer: Servicer) -> None:
    service = servicer(case.service)
    run(service.Create(case.request(case.make("taken", "globex")), None))
    items = [
        case.make("one"),
        case.make("a/b"),
        case.make("taken", "globex"),
        case.make("two", "hooli"),
        case.make("three", "nobody"),
    ]

    reply = run(service.CreateBatch(case.batch("Create", *items), None))

    refused = [(each.item, each.code) for each in reply.refusals]
    assert refused == [(1, "INVALID_ARGUMENT"), (2, "ALREADY_EXISTS"), (4, "NOT_FOUND")]
    assert f"{case.field}[1].name: " in reply.refusals[0].message
    assert reply.items == 5
    answered = [type(case.definition).FromString(each).name for each in reply.replies]
    assert answered == ["one", "", "", "two", ""]
    listed = case.names(run(service.List(case.listing(), None)))
    assert listed == [("acme", "one"), ("globex", "taken"), ("hooli", "two")]


@every_kind
def test_batches_of_updates_and_deletions_let_the_good_ones_through(
    case: Case, servicer: Servicer
) -> None:
    service = servicer(case.service)
    for tenant in ("acme", "globex"):
        run(service.Create(case.request(case.make("one", tenant)), None))

    updated = run(
        service.UpdateBatch(
            case.batch(
                "Update",
                case.make("none"),
                case.make("one", description="new"),
                case.make("one", ""),
            ),
            None,
        )
    )
    names = [DefinitionName(tenant=each, name="one") for each in ("initech", "globex", "a b")]
    deleted = run(service.DeleteBatch(case.batch("Delete", *names), None))

    assert [(each.item, each.code) for each in updated.refusals] == [
        (0, "NOT_FOUND"),
        (2, "INVALID_ARGUMENT"),
    ]
    assert [(each.item, each.code) for each in deleted.refusals] == [
        (0, "NOT_FOUND"),
        (2, "INVALID_ARGUMENT"),
    ]
    [left] = getattr(run(service.List(case.listing(), None)), case.field)
    assert (left.tenant, left.description) == ("acme", "new")


@every_kind
def test_a_batch_of_wrong_items_alone_is_not_proposed(
    case: Case, servicer: Servicer, node: MemoryNode
) -> None:
    before = len(node.proposals)

    reply = run(servicer(case.service).CreateBatch(case.batch("Create", case.make("")), None))

    assert [each.code for each in reply.refusals] == ["INVALID_ARGUMENT"]
    assert len(node.proposals) == before


@every_kind
def test_get_batch_leaves_out_what_is_not_there(case: Case, servicer: Servicer) -> None:
    service = servicer(case.service)
    for tenant in ("acme", "hooli"):
        run(service.Create(case.request(case.make("one", tenant)), None))
    names = [DefinitionName(tenant=each, name="one") for each in ("hooli", "globex", "acme")]

    lookups = run(service.GetBatch(GetDefinitionsRequest(names=names), None)).lookups

    assert [each.definition.tenant for each in lookups] == ["hooli", "", "acme"]


@every_kind
@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
def test_pages_of_all_tenants_hold_everything_once_and_in_order(
    case: Case, size: int, servicer: Servicer
) -> None:
    service = servicer(case.service)
    wanted = [(tenant, name) for tenant in ("acme", "globex", "hooli") for name in ("a", "ab", "b")]
    items = [case.make(name, tenant) for tenant, name in reversed(wanted)]
    run(service.CreateBatch(case.batch("Create", *items), None))

    async def streamed() -> list[tuple[str, str]]:
        pages = service.StreamList(case.listing(page_size=size), None)
        return [name async for page in pages for name in case.names(page)]

    assert run(streamed()) == wanted
    page = run(service.List(case.listing(tenant="globex", prefix="a", page_size=1), None))
    assert case.names(page) == [("globex", "a")]
    assert page.next_page_token
    page = run(
        service.List(
            case.listing(tenant="globex", prefix="a", page_token=page.next_page_token), None
        )
    )
    assert (case.names(page), page.next_page_token) == ([("globex", "ab")], b"")


@every_kind
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"prefix": "a"}, "prefix"),
        ({"tenant": "a/b"}, "tenant"),
        ({"page_size": 1_001}, "page_size"),
        ({"page_token": bytes(10_000)}, "page_token"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(
    case: Case, fields: dict[str, Any], field: str, servicer: Servicer
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(servicer(case.service).List(case.listing(**fields), None))

    assert refusal.value.field == field


@every_kind
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "ä"}, "name"),
        ({"name": "n" * 129}, "name"),
        ({"name": "one", "tenant": ""}, "tenant"),
        ({"name": "one", "tenant": "a b"}, "tenant"),
        ({"name": "one", "description": "d" * 1_025}, "description"),
    ],
)
def test_names_and_descriptions_have_their_bounds(
    case: Case, fields: dict[str, Any], field: str, servicer: Servicer
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(servicer(case.service).Create(case.request(case.make(**fields)), None))

    assert refusal.value.field == f"definition.{field}"
