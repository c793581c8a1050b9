from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from quorate.builtin.tenant.plugin import MOST_DELETIONS, MOST_LIMITS
from quorate.plugin import Invalid, Rejected
from quorate.plugin.checking import LARGEST_PAGE, LONGEST_DESCRIPTION, LONGEST_KEY, LONGEST_NAME
from quorate.plugin.resource.tenants import TENANTS
from quorate.testing import MemoryNode
from quorate.v1 import tenant_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    FinishTenantCascade,
    FinishTenantCascades,
    GetTenantRequest,
    ListTenants,
    MarkTenant,
    MarkTenants,
    PutTenant,
    Tenant,
    UpdateTenant,
    UpdateTenants,
)

NodeWith = Callable[[dict[str, set[str]]], MemoryNode]

LONG = "a" * (LONGEST_NAME + 1)
WORDY = "a" * (LONGEST_DESCRIPTION + 1)
MANY = {f"limit{number}": 1 for number in range(MOST_LIMITS + 1)}


@pytest.fixture
def node(node_with: NodeWith) -> MemoryNode:
    return node_with({})


@pytest.fixture
def service(node: MemoryNode) -> Any:
    return service_of(node)


def service_of(node: MemoryNode) -> Any:
    return node.servicer("quorate.v1.TenantService")


def deletion(name: str, *, cascade: bool = False) -> DeleteTenantRequest:
    return DeleteTenantRequest(name=name, cascade=cascade)


def test_a_tenant_from_its_creation_to_its_end(service: Any) -> None:
    created = run(service.Create(CreateTenant(name="acme", limits={"topics": 1}), None))
    assert run(service.Get(GetTenantRequest(name="acme"), None)) == created

    updated = run(service.Update(UpdateTenant(name="acme", limits={"topics": 2}), None))
    assert list(run(service.List(ListTenants(), None)).tenants) == [updated]
    assert (updated.id, dict(updated.limits)) == (created.id, {"topics": 2})

    run(service.Delete(deletion("acme"), None))
    with pytest.raises(Rejected, match="NOT_FOUND: there is no tenant acme"):
        run(service.Get(GetTenantRequest(name="acme"), None))


def test_a_tenant_that_holds_something_is_refused(node_with: NodeWith) -> None:
    node = node_with({"offset": {"acme"}, "mqtt": {"acme"}, "engine": {"bolt"}})
    service = service_of(node)
    created = run(service.Create(CreateTenant(name="acme"), None))

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION: .* in mqtt, offset: "):
        run(service.Delete(deletion("acme"), None))

    assert run(service.Get(GetTenantRequest(name="acme"), None)) == created


def test_a_cascade_marks_with_all_names_and_the_last_one_ends_it(node_with: NodeWith) -> None:
    node = node_with({"offset": {"acme"}, "mqtt": set()})
    service = service_of(node)
    run(service.Create(CreateTenant(name="acme"), None))

    marked = run(service.Delete(deletion("acme", cascade=True), None))
    assert (marked.deleting_at_ms, list(marked.cascades)) == (1_000, ["mqtt", "offset"])
    assert run(service.Delete(deletion("acme", cascade=True), None)) == marked

    for cascade in ("offset", "mqtt"):
        assert run(service.Get(GetTenantRequest(name="acme"), None)).deleting_at_ms
        finish = FinishTenantCascade(name="acme", id=marked.id, cascade=cascade)
        run(node.propose(finish, Empty))
    assert node.rows(TENANTS) == {}


def test_what_holds_nothing_is_marked_as_well(node_with: NodeWith) -> None:
    """Something may have come in behind the question: the cascade deletes it."""
    service = service_of(node_with({"mqtt": set()}))
    run(service.Create(CreateTenant(name="acme"), None))

    assert list(run(service.Delete(deletion("acme"), None)).cascades) == ["mqtt"]


def test_a_batch_of_deletions_answers_each_item(node_with: NodeWith) -> None:
    node = node_with({"mqtt": {"held", "gone"}})
    service = service_of(node)
    names = ["free", "held", "gone"]
    tenants = [CreateTenant(name=name) for name in names]
    run(service.CreateBatch(CreateTenants(tenants=tenants), None))
    deletions = [
        deletion("nobody"),
        deletion("gone", cascade=True),
        deletion("held"),
        deletion("free"),
    ]

    reply = run(service.DeleteBatch(DeleteTenantsRequest(deletions=deletions), None))

    assert reply.items == 4
    refused = [(each.item, each.code) for each in reply.refusals]
    assert refused == [(0, "NOT_FOUND"), (2, "FAILED_PRECONDITION")]
    told = [Tenant.FromString(each).name for each in reply.replies]
    assert told == ["", "gone", "", "free"]
    assert len(reply.revisions) == 1
    listed = {
        tenant.name: list(tenant.cascades)
        for tenant in run(service.List(ListTenants(), None)).tenants
    }
    assert listed == {"free": ["mqtt"], "gone": ["mqtt"], "held": []}


def test_a_batch_that_is_refused_in_all_its_items_proposes_nothing(node_with: NodeWith) -> None:
    node = node_with({"mqtt": {"held"}})

    request = DeleteTenantsRequest(deletions=[deletion("held")])
    reply = run(service_of(node).DeleteBatch(request, None))

    assert (reply.items, any(reply.replies), len(reply.refusals)) == (1, False, 1)
    assert node.proposals == []


def test_batches_create_and_update(service: Any) -> None:
    tenants = [CreateTenant(name=name) for name in "ab"]
    run(service.CreateBatch(CreateTenants(tenants=tenants), None))
    updates = [UpdateTenant(name=name, description="new") for name in "ab"]
    reply = run(service.UpdateBatch(UpdateTenants(tenants=updates), None))

    listed = run(service.List(ListTenants(), None)).tenants
    assert [tenant.description for tenant in listed] == ["new", "new"]
    assert [Tenant.FromString(each) for each in reply.replies] == list(listed)


def test_the_largest_that_is_allowed_is_taken(service: Any) -> None:
    limits = {f"limit{number}": 2**64 - 1 for number in range(MOST_LIMITS)}
    command = CreateTenant(
        name="a" * LONGEST_NAME, description="a" * LONGEST_DESCRIPTION, limits=limits
    )

    assert run(service.Create(command, None)).limits == limits
    assert len(run(service.List(ListTenants(page_size=LARGEST_PAGE), None)).tenants) == 1
    deletions = [deletion(f"t{number}") for number in range(MOST_DELETIONS)]
    reply = run(service.DeleteBatch(DeleteTenantsRequest(deletions=deletions), None))
    assert len(reply.refusals) == MOST_DELETIONS


A = deletion("a")


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("Create", CreateTenant(), "name"),
        ("Create", CreateTenant(name=LONG), "name"),
        ("Create", CreateTenant(name="a/b"), "name"),
        ("Create", CreateTenant(name="a", description=WORDY), "description"),
        ("Create", CreateTenant(name="a", limits=MANY), "limits"),
        ("Create", CreateTenant(name="a", limits={"a b": 1}), "limits['a b']"),
        ("Update", UpdateTenant(), "name"),
        ("Update", UpdateTenant(name=LONG), "name"),
        ("Delete", DeleteTenantRequest(), "name"),
        ("Delete", deletion(LONG), "name"),
        ("DeleteBatch", DeleteTenantsRequest(deletions=[A, A]), "deletions[1].name"),
        ("DeleteBatch", DeleteTenantsRequest(deletions=[deletion(LONG)]), "deletions[0].name"),
        (
            "DeleteBatch",
            DeleteTenantsRequest(deletions=[A] * (MOST_DELETIONS + 1)),
            "deletions",
        ),
        ("Get", GetTenantRequest(), "name"),
        ("Get", GetTenantRequest(name=LONG), "name"),
        ("List", ListTenants(prefix="a" * (LONGEST_KEY + 1)), "prefix"),
        ("List", ListTenants(page_token=bytes(LONGEST_KEY + 1)), "page_token"),
        ("List", ListTenants(page_size=LARGEST_PAGE + 1), "page_size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused_with_its_field(
    service: Any, node: MemoryNode, method: str, request_: Message, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(getattr(service, method)(request_, None))

    assert refusal.value.field == field
    assert node.proposals == []


def test_no_cascade_is_asked_about_what_is_no_name(node_with: NodeWith) -> None:
    with pytest.raises(Invalid, match="name: must not be empty"):
        run(service_of(node_with({"mqtt": {""}})).Delete(deletion(""), None))


DONE = FinishTenantCascade(name="a", id=1, cascade="m")


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (MarkTenant(), "name"),
        (MarkTenant(name="a", cascades=["m", "a"]), "cascades"),
        (MarkTenant(name="a", cascades=["m", "m"]), "cascades"),
        (MarkTenant(name="a", cascades=[""]), "cascades[0]"),
        (MarkTenants(tenants=[MarkTenant()]), "tenants[0].name"),
        (FinishTenantCascade(id=1, cascade="m"), "name"),
        (FinishTenantCascade(name="a", cascade="m"), "id"),
        (FinishTenantCascade(name="a", id=1), "cascade"),
        (FinishTenantCascades(cascades=[FinishTenantCascade()]), "cascades[0].name"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_internal_command_is_refused_with_its_field(
    node: MemoryNode, command: Message, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(node.propose(command, BatchReply))

    assert refusal.value.field == field
    assert node.proposals == []


@pytest.mark.parametrize(
    ("given", "paths", "description", "limits"),
    [
        ({"description": "new"}, [], "new", {"topics": 1}),
        ({"limits": {"users": 2}}, [], "old", {"users": 2}),
        ({}, ["description"], "", {"topics": 1}),
        ({"description": "new"}, ["limits"], "old", {}),
    ],
)
def test_an_update_changes_what_is_given(
    service: Any,
    given: dict[str, Any],
    paths: list[str],
    description: str,
    limits: dict[str, int],
) -> None:
    run(service.Create(CreateTenant(name="a", description="old", limits={"topics": 1}), None))
    update = UpdateTenant(name="a", **given)
    update.update_mask.paths.extend(paths)

    updated = run(service.Update(update, None))

    assert (updated.description, dict(updated.limits)) == (description, limits)


@pytest.mark.parametrize("path", ["name", "update_mask", "nothing", "limits.x"])
def test_a_mask_names_what_can_be_changed(service: Any, path: str) -> None:
    update = UpdateTenant(name="a")
    update.update_mask.paths.append(path)

    with pytest.raises(Invalid, match="may name description, limits") as refusal:
        run(service.Update(update, None))

    assert refusal.value.field == "update_mask"


def test_put_creates_and_replaces(service: Any) -> None:
    made = run(service.Put(PutTenant(name="a", limits={"topics": 1}), None))
    again = run(service.Put(PutTenant(name="a", description="new"), None))

    assert (again.id, again.created_at_ms) == (made.id, made.created_at_ms)
    assert (again.description, dict(again.limits)) == ("new", {})


def test_clients_cannot_mark_or_finish(node: MemoryNode) -> None:
    public = {name for name, command in node.catalog.commands.items() if command.public}

    changing = {f"quorate.v1.{verb}Tenants" for verb in ("Create", "Update", "Put")}
    of_quotas = {f"quorate.v1.{verb}Quotas" for verb in ("Create", "Update", "Put", "Delete")}
    assert public == changing | of_quotas


def test_what_is_wrong_with_an_item_is_said_in_its_place(service: Any) -> None:
    tenants = [CreateTenant(name="a"), CreateTenant()]
    created = run(service.CreateBatch(CreateTenants(tenants=tenants), None))
    updates = UpdateTenants(tenants=[UpdateTenant(name=LONG)])
    updated = run(service.UpdateBatch(updates, None))

    assert [each.item for each in created.refusals] == [1]
    assert created.refusals[0].message.startswith("tenants[1].name: must not be empty")
    assert updated.refusals[0].message.startswith("tenants[0].name: ")


METHODS = tenant_pb2.DESCRIPTOR.services_by_name["TenantService"].methods
#: Field 1 as a number, where each of these messages has text or messages.
NUMBER_FOR_TEXT = b"\x08\x01"
#: Field 1 as bytes that are neither text nor a message.
NO_TEXT = b"\x0a\x02\xff\xff"


@pytest.mark.parametrize(
    "method",
    # Of a batch nothing is left, which is right.
    [each for each in METHODS if not each.name.endswith("Batch")],
    ids=lambda method: str(method.name),
)
def test_the_wrong_type_is_refused(service: Any, node: MemoryNode, method: Any) -> None:
    kind = getattr(tenant_pb2, method.input_type.name)
    with pytest.raises(DecodeError):
        kind.FromString(NO_TEXT)
    request = kind.FromString(NUMBER_FOR_TEXT)

    if method.name == "List":
        # What it does not know is as if it were not there, and no prefix lists everything.
        assert not run(service.List(request, None)).tenants
    else:
        with pytest.raises(Invalid) as refusal:
            run(getattr(service, method.name)(request, None))
        assert refusal.value.field == kind.DESCRIPTOR.fields_by_number[1].name
    assert node.proposals == []
