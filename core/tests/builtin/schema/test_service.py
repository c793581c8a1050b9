from asyncio import run
from collections.abc import Sequence
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from quorate.builtin.schema import apply
from quorate.builtin.schema.rows import BINDINGS, BOUND, SCHEMAS, VERSIONS
from quorate.builtin.schema.validation import LARGEST_DEFINITION, LONGEST_RESOURCE
from quorate.plugin import Invalid, Rejected
from quorate.plugin.checking import LARGEST_PAGE, LONGEST_NAME
from quorate.testing import MemoryNode
from quorate.v1 import schema_pb2
from quorate.v1.schema_pb2 import (
    SCHEMA_KIND_AVRO,
    SCHEMA_KIND_JSON,
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
    SchemaBinding,
    SchemaVersion,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)
from quorate.v1.tenant_pb2 import ListTenants, MarkTenant, Tenant

LONG = "a" * (LONGEST_NAME + 1)
LONG_PATH = "a" * (LONGEST_RESOURCE + 1)
LARGE = bytes(LARGEST_DEFINITION + 1)


@pytest.fixture
def service(node: MemoryNode) -> Any:
    return node.servicer("quorate.v1.SchemaService")


def new(name: str = "order", tenant: str = "acme", definition: bytes = b"1") -> CreateSchema:
    return CreateSchema(tenant=tenant, name=name, kind=SCHEMA_KIND_JSON, definition=definition)


def update(name: str = "order", expected: int = 0, definition: bytes = b"2") -> UpdateSchema:
    return UpdateSchema(tenant="acme", name=name, definition=definition, expected_version=expected)


def gone(name: str = "order", tenant: str = "acme") -> DeleteSchema:
    return DeleteSchema(tenant=tenant, name=name)


def bind(resource: str = "topics/a", name: str = "order", tenant: str = "acme") -> BindSchema:
    return BindSchema(tenant=tenant, resource=resource, name=name)


def unbind(resource: str = "topics/a", name: str = "order") -> UnbindSchema:
    return UnbindSchema(tenant="acme", resource=resource, name=name)


def get(version: int = 0, name: str = "order") -> GetSchema:
    return GetSchema(tenant="acme", name=name, version=version)


def codes(reply: Any) -> list[tuple[int, str]]:
    return [(each.item, each.code) for each in reply.refusals]


def names(rows: Sequence[Any]) -> list[str]:
    return [row.name for row in rows]


def test_every_version_is_kept(service: Any, node: MemoryNode) -> None:
    created = run(service.Create(new(), None))
    run(node.advance(500))
    updated = run(service.Update(update(), None))

    assert created == Schema(
        tenant="acme",
        name="order",
        kind=SCHEMA_KIND_JSON,
        version=1,
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )
    assert (updated.version, updated.created_at_ms, updated.updated_at_ms) == (2, 1_000, 1_500)
    first = run(service.Get(get(1), None))
    newest = run(service.Get(get(), None))
    assert (first.version, first.definition, first.created_at_ms) == (1, b"1", 1_000)
    assert newest == SchemaVersion(
        tenant="acme",
        name="order",
        version=2,
        kind=SCHEMA_KIND_JSON,
        definition=b"2",
        created_at_ms=1_500,
    )
    assert list(run(service.List(ListSchemas(tenant="acme"), None)).schemas) == [updated]


@pytest.mark.parametrize("request_", [get(3), get(name="none"), get(1, name="none")])
def test_what_is_not_there_is_not_found(service: Any, request_: GetSchema) -> None:
    run(service.Create(new(), None))

    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Get(request_, None))


def test_nothing_is_created_twice_in_a_tenant(service: Any) -> None:
    run(service.Create(new(), None))
    run(service.Create(new(tenant="bolt"), None))

    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        run(service.Create(new(definition=b"x"), None))

    assert run(service.Get(get(), None)).definition == b"1"


def test_an_update_over_another_version_is_refused(service: Any) -> None:
    run(service.Create(new(), None))
    run(service.Update(update(expected=1), None))

    with pytest.raises(Rejected, match="VERSION_MISMATCH"):
        run(service.Update(update(expected=1, definition=b"3"), None))
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Update(update("none"), None))

    assert run(service.Get(get(), None)).definition == b"2"


def test_versions_have_an_end(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MOST_VERSIONS", 2)
    run(service.Create(new(), None))
    run(service.Update(update(), None))

    with pytest.raises(Rejected, match="RESOURCE_EXHAUSTED"):
        run(service.Update(update(), None))


def test_a_bound_schema_cannot_be_deleted(service: Any, node: MemoryNode) -> None:
    for each in (new(), new("orders"), new(tenant="bolt")):
        run(service.Create(each, None))
    run(service.Update(update(), None))
    for _ in range(2):
        run(service.Bind(bind(), None))
    run(service.Delete(gone("orders"), None))
    run(service.Delete(gone(tenant="bolt"), None))

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION: .* is bound to 'topics/a'"):
        run(service.Delete(gone(), None))

    assert run(service.Get(get(), None)).version == 2
    run(service.Unbind(unbind(), None))
    run(service.Delete(gone(), None))
    assert [node.rows(each) for each in (SCHEMAS, VERSIONS, BINDINGS, BOUND)] == [{}, {}, {}, {}]


def test_what_is_not_there_cannot_be_deleted_bound_or_unbound(service: Any) -> None:
    run(service.Create(new(), None))

    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Delete(gone("none"), None))
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Bind(bind(name="none"), None))
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Unbind(unbind(), None))


def test_batches_answer_each_item(service: Any, node: MemoryNode) -> None:
    run(service.Create(new("b"), None))

    created = run(service.CreateBatch(CreateSchemas(schemas=map(new, "abc")), None))
    updated = run(service.UpdateBatch(UpdateSchemas(schemas=map(update, "axc")), None))
    binds = [bind(name=name) for name in "axb"]
    bound = run(service.BindBatch(BindSchemas(bindings=binds), None))
    refused = run(service.DeleteBatch(DeleteSchemas(schemas=map(gone, "abc")), None))
    unbinds = [unbind(name=name) for name in "axb"]
    unbound = run(service.UnbindBatch(UnbindSchemas(bindings=unbinds), None))
    deleted = run(service.DeleteBatch(DeleteSchemas(schemas=map(gone, "abc")), None))

    assert codes(created) == [(1, "ALREADY_EXISTS")]
    assert names(list(map(Schema.FromString, created.replies))) == ["a", "", "c"]
    assert codes(updated) == [(1, "NOT_FOUND")]
    assert [Schema.FromString(each).version for each in updated.replies] == [2, 0, 2]
    assert codes(bound) == [(1, "NOT_FOUND")]
    assert codes(refused) == [(0, "FAILED_PRECONDITION"), (1, "FAILED_PRECONDITION")]
    assert codes(unbound) == [(1, "NOT_FOUND")]
    assert codes(deleted) == [(2, "NOT_FOUND")]
    assert {each.items for each in (created, updated, bound, refused, unbound, deleted)} == {3}
    assert node.rows(SCHEMAS) == {}


def test_pages_of_schemas(service: Any) -> None:
    schemas = [new(name) for name in ("b", "a", "ab", "c")]
    run(service.CreateBatch(CreateSchemas(schemas=[*schemas, new(tenant="acmes")]), None))

    def page(prefix: str = "", after: str = "", limit: int = 0) -> tuple[list[str], str]:
        query = ListSchemas(tenant="acme", prefix=prefix, after=after, limit=limit)
        found = run(service.List(query, None))
        return names(found.schemas), found.next_after

    assert page() == (["a", "ab", "b", "c"], "")
    assert page(limit=2) == (["a", "ab"], "ab")
    assert page(after="ab", limit=2) == (["b", "c"], "")
    assert page("a") == (["a", "ab"], "")
    assert page("b", after="a") == (["b"], "")
    assert page("a", after="c") == ([], "")


def test_pages_of_bindings(service: Any) -> None:
    run(service.CreateBatch(CreateSchemas(schemas=map(new, "ab")), None))
    binds = [bind("t/1", "b"), bind("t/2", "a"), bind("t/1", "a"), bind("t", "a")]
    run(service.BindBatch(BindSchemas(bindings=binds), None))

    def page(query: ListSchemaBindings) -> list[tuple[str, str]]:
        query.tenant = "acme"
        found = run(service.ListBindings(query, None))
        after = found.bindings[-1] if found.HasField("next_after") else SchemaBinding()
        assert found.next_after == after
        listed = [(each.resource, each.name) for each in found.bindings]
        return [*listed, ("more", "")] if found.HasField("next_after") else listed

    everything = [("t", "a"), ("t/1", "a"), ("t/1", "b"), ("t/2", "a")]
    assert page(ListSchemaBindings()) == everything
    assert page(ListSchemaBindings(limit=2)) == [*everything[:2], ("more", "")]
    after = SchemaBinding(tenant="acme", resource="t/1", name="a")
    assert page(ListSchemaBindings(after=after, limit=2)) == everything[2:]
    assert page(ListSchemaBindings(resource="t/1")) == everything[1:3]
    assert page(ListSchemaBindings(resource="t", after=after)) == []


def test_the_largest_that_is_allowed_is_taken(service: Any) -> None:
    name, resource = "a" * LONGEST_NAME, "a" * LONGEST_RESOURCE
    definition = bytes(LARGEST_DEFINITION)

    run(service.Create(new(name, definition=definition), None))
    run(service.Bind(bind(resource, name), None))

    assert run(service.Get(get(name=name), None)).definition == definition
    lists = ListSchemas(tenant="acme", limit=LARGEST_PAGE)
    assert names(run(service.List(lists, None)).schemas) == [name]


def test_a_page_without_a_limit_has_one(service: Any) -> None:
    schemas = [new(f"{number:03}") for number in range(101)]
    run(service.CreateBatch(CreateSchemas(schemas=schemas), None))

    page = run(service.List(ListSchemas(tenant="acme"), None))

    assert (len(page.schemas), page.next_after) == (100, "099")


def put(definition: bytes = b"1", description: str = "") -> PutSchema:
    return PutSchema(
        tenant="acme",
        name="order",
        kind=SCHEMA_KIND_JSON,
        definition=definition,
        description=description,
    )


def test_put_creates_and_replaces(service: Any) -> None:
    run(service.Put(put(b"1", "Orders."), None))
    same = run(service.Put(put(b"1"), None))
    other = run(service.Put(put(b"2", "Again."), None))

    assert (same.version, same.description) == (1, "")
    assert (other.version, other.description) == (2, "Again.")
    avro = put(b"2")
    avro.kind = SCHEMA_KIND_AVRO
    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*SCHEMA_KIND_JSON"):
        run(service.Put(avro, None))


def test_an_update_changes_what_is_given(service: Any) -> None:
    run(service.Create(new(), None))

    described = UpdateSchema(tenant="acme", name="order", description="Orders.")
    assert run(service.Update(described, None)).version == 1
    newer = run(service.Update(update(), None))

    assert (newer.version, newer.description) == (2, "Orders.")
    cleared = UpdateSchema(tenant="acme", name="order")
    cleared.update_mask.paths.append("description")
    assert run(service.Update(cleared, None)).description == ""


def test_all_tenants_are_listed_with_definitions(service: Any) -> None:
    for tenant in ("bolt", "acme"):
        for name in ("b", "a"):
            run(service.Create(new(name, tenant, definition=tenant.encode()), None))
    query, found = ListSchemas(limit=3, definitions=True), []
    while True:
        page = run(service.List(query, None))
        assert [each.name for each in page.schemas] == [each.name for each in page.versions]
        found += [(each.tenant, each.name, each.definition) for each in page.versions]
        if not page.next_page_token:
            break
        query.page_token = page.next_page_token

    wanted = [(tenant, name) for tenant in ("acme", "bolt") for name in ("a", "b")]
    assert found == [(tenant, name, tenant.encode()) for tenant, name in wanted]


def test_a_page_of_large_definitions_ends_early(service: Any) -> None:
    large = bytes(LARGEST_DEFINITION)
    for number in range(70):
        run(service.Create(new(f"s{number:02}", definition=large), None))

    page = run(service.List(ListSchemas(tenant="acme", definitions=True), None))

    assert len(page.schemas) == 64
    assert page.next_after == "s63"


@pytest.mark.parametrize(
    "resource", ["$SYS/x", "a b", "/leading", "trailing/", "\u65e5\u672c/\U0001f600"]
)
def test_anything_that_can_be_a_topic_is_bound(service: Any, resource: str) -> None:
    for name in ("a", "b"):
        run(service.Create(new(name), None))
        run(service.Bind(bind(resource, name), None))
    run(service.Bind(bind("other", "b"), None))

    query = ListSchemaBindings(tenant="acme", name="b", limit=1)
    first = run(service.ListBindings(query, None))
    query.page_token = first.next_page_token
    second = run(service.ListBindings(query, None))

    pages = (first, second)
    bound = [(each.resource, each.name) for page in pages for each in page.bindings]
    assert bound == sorted([(resource, "b"), ("other", "b")])
    assert not second.next_page_token
    everything = run(service.ListBindings(ListSchemaBindings(), None))
    assert len(everything.bindings) == 3


def test_a_tenant_takes_its_schemas_along(service: Any, node: MemoryNode) -> None:
    run(service.Create(new("kept", "bolt"), None))
    for number in range(30):
        run(service.Create(new(f"s{number}"), None))
        run(service.Bind(bind("topic", f"s{number}"), None))
    run(node.propose(MarkTenant(name="acme", cascades=["schema"]), Tenant))
    for refused in (service.Create(new("late"), None), service.Bind(bind("late", "s1"), None)):
        with pytest.raises(Rejected, match="FAILED_PRECONDITION"):
            run(refused)

    run(node.run_controller("schema.tenant_deletion"))

    left = run(service.List(ListSchemas(), None)).schemas
    assert [(each.tenant, each.name) for each in left] == [("bolt", "kept")]
    assert not run(service.ListBindings(ListSchemaBindings(), None)).bindings

    listed = run(node.servicer("quorate.v1.TenantService").List(ListTenants(), None))
    assert "acme" not in [each.name for each in listed.tenants]


def test_a_schema_needs_its_tenant(service: Any, node: MemoryNode) -> None:
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Create(new(tenant="unknown"), None))


UNKNOWN_KIND = CreateSchema(tenant="a", name="a", kind=9, definition=b"1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("Create", CreateSchema(), "tenant"),
        ("Create", new(LONG), "name"),
        ("Create", new("a/b"), "name"),
        ("Create", new(tenant=LONG), "tenant"),
        ("Create", new(definition=b""), "definition"),
        ("Create", new(definition=LARGE), "definition"),
        ("Create", CreateSchema(tenant="a", name="a", definition=b"1"), "kind"),
        ("Create", UNKNOWN_KIND, "kind"),
        ("Update", UpdateSchema(), "tenant"),
        ("Update", update(LONG), "name"),
        ("Update", update(definition=b""), "definition"),
        ("Update", update(definition=LARGE), "definition"),
        ("Delete", DeleteSchema(), "tenant"),
        ("Delete", gone(LONG), "name"),
        ("Bind", BindSchema(), "tenant"),
        ("Bind", bind(""), "resource"),
        ("Bind", bind("a\n"), "resource"),
        ("Bind", bind(LONG_PATH), "resource"),
        ("Bind", bind(name=LONG), "name"),
        ("Unbind", UnbindSchema(), "tenant"),
        ("Unbind", unbind(LONG_PATH), "resource"),
        ("Get", GetSchema(), "tenant"),
        ("Get", get(name=LONG), "name"),
        ("List", ListSchemas(tenant="a/b"), "tenant"),
        ("List", ListSchemas(tenant="a", prefix=LONG), "prefix"),
        ("List", ListSchemas(tenant="a", after=LONG), "after"),
        ("List", ListSchemas(tenant="a", limit=LARGEST_PAGE + 1), "limit"),
        ("List", ListSchemas(prefix="a"), "prefix"),
        ("List", ListSchemas(tenant="a", after="a", page_token=b"a"), "page_token"),
        ("ListBindings", ListSchemaBindings(tenant="a/b"), "tenant"),
        ("ListBindings", ListSchemaBindings(name="a"), "name"),
        ("ListBindings", ListSchemaBindings(tenant="a", resource="b", name="c"), "resource"),
        ("ListBindings", ListSchemaBindings(tenant="a", resource=LONG_PATH), "resource"),
        (
            "ListBindings",
            ListSchemaBindings(tenant="a", after=SchemaBinding(resource=LONG_PATH)),
            "after.resource",
        ),
        (
            "ListBindings",
            ListSchemaBindings(tenant="a", after=SchemaBinding(name=LONG)),
            "after.name",
        ),
        ("ListBindings", ListSchemaBindings(tenant="a", limit=LARGEST_PAGE + 1), "limit"),
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


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("CreateBatch", CreateSchemas(schemas=[new("a"), new(LONG)]), "schemas[1].name"),
        ("PutBatch", PutSchemas(schemas=[put(), PutSchema()]), "schemas[1].tenant"),
        ("UpdateBatch", UpdateSchemas(schemas=[update(), update("")]), "schemas[1].name"),
        ("DeleteBatch", DeleteSchemas(schemas=[gone(), gone("")]), "schemas[1].name"),
        ("BindBatch", BindSchemas(bindings=[bind(), bind("")]), "bindings[1].resource"),
        ("UnbindBatch", UnbindSchemas(bindings=[unbind("t"), unbind("")]), "bindings[1].resource"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_with_an_item_is_said_in_its_place(
    service: Any, method: str, request_: Message, field: str
) -> None:
    run(service.Create(new(), None))
    if method == "UnbindBatch":
        run(service.Bind(bind("t"), None))

    reply = run(getattr(service, method)(request_, None))

    assert codes(reply) == [(1, "INVALID_ARGUMENT")]
    assert reply.refusals[0].message.startswith(f"{field}: ")


METHODS = schema_pb2.DESCRIPTOR.services_by_name["SchemaService"].methods
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
    kind = getattr(schema_pb2, method.input_type.name)
    if method.name.startswith("List"):
        pytest.skip("nothing at all lists everything")
    with pytest.raises(DecodeError):
        kind.FromString(NO_TEXT)

    with pytest.raises(Invalid) as refusal:
        run(getattr(service, method.name)(kind.FromString(NUMBER_FOR_TEXT), None))

    assert refusal.value.field == kind.DESCRIPTOR.fields_by_number[1].name
    assert node.proposals == []
