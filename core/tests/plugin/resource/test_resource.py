"""What is derived of a resource whose rows are spread by tenant: tenants, limits, reads, faults."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from quorate.apply.entries import Copies
from quorate.builtin.tenant import plugin as tenant
from quorate.plugin import (
    Admission,
    Declaration,
    Invalid,
    Item,
    Life,
    RaftGroup,
    Rejected,
    Resource,
    Serving,
    Storage,
    Verb,
    hookimpl,
    keys,
)
from quorate.plugin.advanced import write_row
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.plugin.resource import bind, derive
from quorate.plugin.resource.tenants import TENANTS
from quorate.testing import MemoryClient, MemoryNode
from quorate.testing.shard import Entry, MemoryShard, command_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow
from quorate.v1.tenant_pb2 import CreateTenant, DeleteTenantRequest, Tenant, UpdateTenant

if TYPE_CHECKING:
    from core.tests.plugin.resource.conftest import Proto

TEXT = """
Thing: string tenant, string name, string kind, uint32 size, int64 created_at_ms, string owner
Request: Thing thing, FieldMask update_mask
Name: string tenant, string name, bool missing_ok
CreateThings: repeated Thing things
PutThings: repeated Thing things
UpdateThings: repeated Thing things, FieldMask update_mask
DeleteThings: repeated Name names
GetThings: repeated Name names
Lookup: Thing thing
Lookups: repeated Lookup lookups
List: string tenant, string prefix, string kind, uint32 page_size, bytes page_token, bool stale
Page: repeated Thing things, bytes next_page_token
rpc Create(Request) Thing
rpc CreateBatch(CreateThings) BatchReply
rpc Put(Request) Thing
rpc PutBatch(PutThings) BatchReply
rpc Update(Request) Thing
rpc UpdateBatch(UpdateThings) BatchReply
rpc Delete(Name) BatchReply
rpc Get(Name) Thing
rpc GetBatch(GetThings) Lookups
rpc List(List) Page
rpc StreamList(List) stream Page
rpc Count(List) RowCount
"""
#: `Delete` has no single form here.
TEXT = TEXT.replace("rpc Delete(Name) BatchReply", "rpc DeleteBatch(DeleteThings) BatchReply")


def catalog_of(resource: Resource[Any]) -> Catalog:
    """Return the catalog of a plugin with the resource, in four shards, and of the tenants."""
    module = ModuleType("things")

    @hookimpl
    def quorate_declarations() -> Sequence[Declaration]:
        return [RaftGroup(name="things", shards=4), resource]

    module.quorate_declarations = quorate_declarations  # type: ignore[attr-defined]  # made here
    return build(
        [
            Plugin(name="things", distribution="acme", version="1", module=module),
            Plugin(name="tenant", distribution="quorate", version="1", module=tenant),
        ]
    )


class Things:
    """A node with the things of some tenants, in four shards."""

    def __init__(self, proto: Callable[[str], Proto], **changed: Any) -> None:
        self.pb: Any = proto(TEXT)
        self.resource: Resource[Any] = Resource(
            family="things.things",
            row=self.pb.Thing,
            service=self.pb.service,
            group="things",
            key=("tenant", "name"),
            shard_by=("tenant",),
            tenant="tenant",
            life=Life(limit="things"),
            serving=Serving(internal=("owner",)),
            check=self.check,
            examples=(self.pb.Thing(tenant="acme", name="a", kind="x"),),
        )
        self.resource = replace(self.resource, **changed)
        self.node = MemoryNode(catalog=catalog_of(self.resource), shards={"things": 4}, at_ms=1_000)
        self.client = MemoryClient(self.node)
        self.records = self.client.records(self.resource)

    @staticmethod
    def check(thing: Any, path: str) -> None:
        if not thing.kind:
            raise Invalid(f"{path}kind", "must not be empty")

    def thing(self, tenant: str, name: str, kind: str = "x", **more: Any) -> Any:
        return self.pb.Thing(tenant=tenant, name=name, kind=kind, **more)

    def tenants(self, *names: str) -> None:
        for name in names:
            run(self.service("quorate.v1.TenantService").Create(CreateTenant(name=name), None))

    def service(self, name: str = "") -> Any:
        return self.node.servicer(name or self.pb.service.full_name)


@pytest.fixture
def things(proto: Callable[[str], Proto]) -> Things:
    made = Things(proto)
    made.tenants("acme", "globex")
    return made


def test_a_row_needs_its_tenant(things: Things) -> None:
    with pytest.raises(Exception, match="NOT_FOUND: there is no tenant initech"):
        run(things.records.create(things.thing("initech", "a")))
    with pytest.raises(Exception, match="NOT_FOUND: there is no tenant initech"):
        run(things.records.put(things.thing("initech", "a")))


@pytest.mark.parametrize(
    ("copied", "code"),
    [
        ([], "NOT_FOUND"),
        ([Tenant(name="acme", deleting_at_ms=1)], "FAILED_PRECONDITION"),
        ([Tenant(name="acme", limits={"things": 0})], "LIMIT_REACHED"),
    ],
)
def test_nothing_is_refused_for_what_an_old_copy_of_a_tenant_says(
    things: Things, copied: Sequence[Tenant], code: str
) -> None:
    shard = MemoryShard(things.node.catalog, "things")
    rows = [
        MirroredRow(key=keys.pack(each.name), value=each.SerializeToString(), revision=1)
        for each in copied
    ]
    copy = command_of(AdoptMirror(family=TENANTS, revision=1, rows=rows, reset=True))
    create = command_of(things.pb.CreateThings(things=[things.thing("acme", "a")]))
    doubted = create._replace(copies=Copies.DOUBTED)

    [_, behind, refused] = shard.apply(
        [Entry(index=1, commands=(copy, doubted)), Entry(index=2, commands=(create,))]
    )

    assert isinstance(behind.failure, Rejected)
    assert behind.failure.code == "COPY_BEHIND"
    [refusal] = BatchReply.FromString(refused.reply).refusals
    assert refusal.code == code


def test_the_host_sets_what_callers_do_not(things: Things) -> None:
    made = run(things.records.create(things.thing("acme", "a", owner="me", created_at_ms=7)))

    assert (made.created_at_ms, made.owner) == (1_000, "")


def test_a_tenant_has_as_many_rows_as_its_limit(things: Things) -> None:
    update = UpdateTenant(name="acme", limits={"things": 2})
    run(things.service("quorate.v1.TenantService").Update(update, None))
    rows = [things.thing("acme", name) for name in "abc"]

    reply = run(things.records.create([*rows, things.thing("globex", "a")]))
    assert [(each.item, each.code) for each in reply.refusals] == [(2, "LIMIT_REACHED")]
    run(things.records.put(rows[0]))
    with pytest.raises(Exception, match="LIMIT_REACHED"):
        run(things.records.put(rows[2]))
    run(things.records.delete("acme", "a"))
    run(things.records.put(rows[2]))


def test_a_tenant_goes_with_its_rows(things: Things) -> None:
    run(things.records.create([things.thing("acme", f"{n}") for n in range(3)]))
    run(things.records.create(things.thing("globex", "a")))
    tenants = things.service("quorate.v1.TenantService")

    with pytest.raises(Rejected, match="tenant acme holds something in things"):
        run(tenants.Delete(DeleteTenantRequest(name="acme"), None))
    run(tenants.Delete(DeleteTenantRequest(name="acme", cascade=True), None))
    run(things.node.run_woken())

    assert [each.tenant for each in listed(things)] == ["globex"]
    assert list(things.node.rows("tenant.tenants")) == [b"\x02globex\x00"]
    assert list(things.node.rows("things.things_of_tenants")) == [b"\x02globex\x00"]


def test_nothing_is_erased_before_every_shard_knows(things: Things) -> None:
    run(things.records.create(things.thing("acme", "a")))
    things.node.mirrors_lag = True
    tenants = things.service("quorate.v1.TenantService")
    run(tenants.Delete(DeleteTenantRequest(name="acme", cascade=True), None))

    run(things.node.run_controller("things.tenant_deletion"))
    assert len(listed(things)) == 1

    things.node.mirror()
    run(things.node.run_controller("things.tenant_deletion"))
    assert not listed(things)


def test_lists_go_over_all_shards_or_one(things: Things) -> None:
    run(
        things.records.create(
            [
                *(things.thing("acme", f"a{n}", kind="xy"[n % 2]) for n in range(4)),
                *(things.thing("globex", f"b{n}") for n in range(2)),
            ]
        )
    )

    assert [each.name for each in listed(things)] == ["a0", "a1", "a2", "a3", "b0", "b1"]
    assert [e.name for e in listed(things, tenant="acme", page_size=3)] == ["a0", "a1", "a2", "a3"]
    assert [each.name for each in listed(things, kind="y", page_size=1)] == ["a1", "a3"]
    assert [each.name for each in listed(things, tenant="globex", prefix="b1")] == ["b1"]
    assert run(things.records.count(kind="x")) == 4
    with pytest.raises(Exception, match="prefix: must be empty when no tenant is given"):
        listed(things, prefix="a")


def test_many_are_looked_up_in_their_order(things: Things) -> None:
    run(things.records.create([things.thing("acme", "a"), things.thing("globex", "b")]))
    wanted = [("globex", "b"), ("acme", "none"), ("acme", "a")]

    found = run(things.records.get(wanted))

    assert [each and each.name for each in found] == ["b", None, "a"]


def test_pages_are_streamed(things: Things) -> None:
    run(things.records.create([things.thing("acme", f"{n}") for n in range(5)]))

    async def pages() -> list[list[str]]:
        request = things.pb.List(page_size=2)
        found = things.service().StreamList(request, None)
        return [[each.name for each in page.things] async for page in found]

    assert run(pages()) == [["0", "1"], ["2", "3"], ["4"]]


def test_a_single_call_names_its_own_fields(things: Things) -> None:
    request = things.pb.Request(thing=things.thing("acme", "a", kind=""))

    with pytest.raises(Invalid) as refused:
        run(things.service().Create(request, None))

    assert refused.value.field == "thing.kind"


def test_a_mask_stands_beside_the_rows(things: Things) -> None:
    run(things.records.create(things.thing("acme", "a", size=3)))
    request = things.pb.Request(thing=things.thing("acme", "a", kind="z", size=9))
    request.update_mask.paths.append("kind")

    changed = run(things.service().Update(request, None))

    assert (changed.kind, changed.size) == ("z", 3)
    request.update_mask.paths[0] = "owner"
    with pytest.raises(Invalid, match="update_mask: names 'owner', and may name kind, size"):
        run(things.service().Update(request, None))


def test_what_goes_with_a_row_is_told_of_it(proto: Callable[[str], Proto]) -> None:
    seen: list[tuple[str, str]] = []

    def changed(_: Any, before: Any, after: Any) -> None:
        if after is not None and after.kind == "bad":
            raise Rejected("BAD")
        seen.append((before.kind if before else "", after.kind if after else ""))

    things = Things(proto, storage=Storage(changed=changed))
    things.tenants("acme")
    run(things.records.create(things.thing("acme", "a")))
    run(things.records.update(things.thing("acme", "a", kind="y")))
    with pytest.raises(Exception, match="BAD"):
        run(things.records.put(things.thing("acme", "a", kind="bad")))
    run(things.records.delete("acme", "a"))

    assert seen == [("", "x"), ("x", "y"), ("y", "")]


@pytest.mark.parametrize(
    ("text", "changed", "what", "fix"),
    [
        (
            TEXT + "rpc Grow(CreateThings) BatchReply\n",
            {},
            "has the method Grow and no verb Grow",
            "give it verbs={'Grow': Verb(apply=...)}",
        ),
        (
            TEXT,
            {"verbs": {"Grow": Verb(apply=lambda txn, item: None)}},
            "has a verb Grow, and ThingService has no such method",
            "add `rpc Grow(...) returns (quorate.v1.BatchReply)`",
        ),
        (
            TEXT,
            {"verbs": {"Create": Verb(), "Grow": Verb()}},
            "has a verb Grow with neither of apply and apply_all",
            "give it one of them",
        ),
        (
            TEXT.replace("PutThings: repeated Thing things", "PutThings: Thing thing"),
            {},
            "has the verb Put, and PutThings has no repeated items",
            "write `repeated Thing things = 1;` in it",
        ),
        (
            TEXT.replace("rpc List(List) Page", "rpc List(List) Thing"),
            {},
            "has the method List, which answers Thing",
            "and `bytes next_page_token`",
        ),
        (
            TEXT.replace("rpc CreateBatch(CreateThings) BatchReply\n", ""),
            {},
            "has the method Create, which answers Thing",
            "every verb is one command with many items",
        ),
        (
            TEXT.replace("Request: Thing thing", "Request: string thing"),
            {},
            "has the method Create, whose Request holds no Thing",
            "let its request be the item of the batch, or a message with a field of it",
        ),
        (
            TEXT.replace("rpc DeleteBatch(DeleteThings) BatchReply\n", ""),
            {},
            "has a tenant and no verb Delete",
            "add `rpc Delete` to the service, or life=Life(cascade=False)",
        ),
        (TEXT, {"key": ()}, "has no key", "name the fields of the row"),
        (
            TEXT,
            {"key": ("tenant", "title")},
            "names 'title' in key, and Thing has no such field",
            "use one of tenant, name",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_repair(
    proto: Callable[[str], Proto], text: str, changed: dict[str, Any], what: str, fix: str
) -> None:
    pb = proto(text)
    resource: Resource[Any] = Resource(
        family="things.things",
        row=pb.Thing,
        service=pb.service,
        key=("tenant", "name"),
        tenant="tenant",
        examples=(pb.Thing(tenant="acme", name="a"),),
    )

    problems = derive("things", [replace(resource, **changed)]).problems

    [found] = [each for each in problems if what in each[0]]
    assert found[0].startswith("resource things.things ")
    assert fix in found[1]


def test_resources_that_share_a_service_say_what_each_serves(
    proto: Callable[[str], Proto],
) -> None:
    pb = proto(TEXT)
    resource: Resource[Any] = Resource(
        family="things.things", row=pb.Thing, service=pb.service, key=("tenant", "name")
    )
    other = replace(resource, family="things.others")

    both = [what for what, _ in derive("things", [resource, other]).problems]
    assert "resources things.things and things.others both serve Create of" in both[0]
    few = [
        replace(resource, serving=Serving(methods=("Get",))),
        replace(other, serving=Serving(methods=("List",))),
    ]
    none = [what for what, _ in derive("things", few).problems]
    assert any("has the method Count, which no resource serves" in what for what in none)


def test_examples_of_no_resource_delete_what_those_of_others_need(
    proto: Callable[[str], Proto],
) -> None:
    protos = (proto(TEXT), proto(TEXT))
    made: list[Resource[Any]] = [
        Resource(family=family, row=pb.Thing, service=pb.service, key=("tenant", "name"))
        for family, pb in zip(("things.things", "things.others"), protos, strict=True)
    ]

    messages = [each.message for each in derive("things", made).commands]

    things, others = protos
    assert messages[-2:] == [others.DeleteThings, things.DeleteThings]
    assert messages.index(others.CreateThings) < messages.index(others.DeleteThings)


def test_methods_of_a_servicer_take_the_place_of_derived_ones(
    proto: Callable[[str], Proto],
) -> None:
    class Own:
        def __init__(self, node: object) -> None:
            self.node = node

        async def Count(self, request: object, context: object) -> str:
            return "counted by hand"

    things = Things(proto, serving=Serving(servicer=Own))

    assert run(things.service().Count(things.pb.List(), None)) == "counted by hand"
    assert bind(things.resource).own == ("Count",)


def test_rows_lie_in_one_shard_and_go_a_few_at_a_time(proto: Callable[[str], Proto]) -> None:
    things = Things(
        proto,
        shard_by=(),
        storage=Storage(shard_key=b"together"),
        life=Life(limit="things", deletions=2),
        serving=Serving(missing="NO_THING"),
    )
    things.tenants("acme", "globex")
    made = [things.thing(tenant, f"{n}") for tenant in ("acme", "globex") for n in range(5)]
    run(things.records.create(made))

    # Of a command on four shards there are as many revisions as shards that have its items.
    assert len(run(things.records.put(made)).revisions) == 1
    assert len(listed(things)) == 10
    with pytest.raises(Exception, match="NO_THING: there is no thing none of acme"):
        run(things.records.update(things.thing("acme", "none")))
    assert run(things.records.get("acme", "none")) is None
    tenants = things.service("quorate.v1.TenantService")
    run(tenants.Delete(DeleteTenantRequest(name="acme", cascade=True), None))
    run(things.node.run_controller("things.tenant_deletion"))

    deleted = [each for each in things.node.proposals if isinstance(each, things.pb.DeleteThings)]
    assert [len(each.names) for each in deleted] == [2, 2, 1]
    assert {each.tenant for each in listed(things)} == {"globex"}


def test_a_list_of_what_cannot_be_is_refused(proto: Callable[[str], Proto]) -> None:
    def check(request: Any) -> None:
        if request.kind == "none":
            raise Invalid("kind", "must be one of x, y")

    things = Things(proto, serving=Serving(keep=check))

    for conditions, field in (({"kind": "none"}, "kind"), ({"page_token": b"x"}, "page_token")):
        with pytest.raises(Exception, match=f"{field}: "):
            listed(things, **conditions)


def test_a_row_may_be_named_twice_where_its_verb_says_so(proto: Callable[[str], Proto]) -> None:
    for repeats, refused in ((False, [1]), (True, [])):
        puts = Verb(apply=lambda _, item: item, item=Item(repeats=repeats))
        things = Things(proto, verbs={"Put": puts}, life=Life())
        twice = [things.thing("acme", "a"), things.thing("acme", "a", kind="y")]

        assert [each.item for each in run(things.records.put(twice)).refusals] == refused


def test_a_command_may_be_for_its_method_alone(proto: Callable[[str], Proto]) -> None:
    class Stamped:
        def __init__(self, node: Any) -> None:
            self.node = node

        async def CreateBatch(self, request: Any, context: object) -> BatchReply:
            for thing in request.things:
                thing.owner = "the service"
            reply: BatchReply = await self.node.propose(request, BatchReply)
            return reply

        async def Create(self, request: Any, context: object) -> Any:
            return request.thing

    made = []

    def create(_: object, item: Any) -> Any:
        made.append(item.owner)
        return item

    things = Things(
        proto,
        serving=Serving(servicer=Stamped),
        verbs={"Create": Verb(admission=Admission(by_hand=True), apply=create)},
        life=Life(),
    )

    run(things.records.create([things.thing("acme", "a")]))
    assert made == ["the service"]
    assert not things.node.catalog.commands[things.pb.CreateThings.DESCRIPTOR.full_name].public


def test_a_key_may_lie_within_a_message_of_the_row(proto: Callable[[str], Proto]) -> None:
    pb: Any = proto(
        """
Id: string tenant, string name
Thing: Id id, string kind
Put: Id id, string kind
PutThings: repeated Put things
Get: Id thing
List: string tenant, string name_prefix, string kind, uint32 page_size, bytes page_token
Page: repeated Thing things, bytes next_page_token
rpc Put(PutThings) BatchReply
rpc Get(Get) Thing
rpc List(List) Page
"""
    )

    def put(txn: Any, item: Any) -> Any:
        return write_row(txn, resource, pb.Thing(id=item.id, kind=item.kind))

    resource: Resource[Any] = Resource(
        family="things.things",
        row=pb.Thing,
        service=pb.service,
        key=("id.tenant", "id.name"),
        group="things",
        storage=Storage(shard_key=b"together"),
        verbs={
            "Put": Verb(
                apply=put,
                item=Item(key=lambda item: keys.pack(item.id.tenant, item.id.name)),
                examples=(pb.Put(id=pb.Id(tenant="acme", name="a")),),
            )
        },
    )
    node = MemoryNode(catalog=catalog_of(resource), shards={"things": 4}, at_ms=1_000)
    records = MemoryClient(node).records(resource)
    ids = [("acme", "a1"), ("acme", "b1"), ("globex", "a1")]
    run(
        records.do(
            "Put", [pb.Put(id=pb.Id(tenant=tenant, name=name), kind="x") for tenant, name in ids]
        )
    )

    async def named(**conditions: Any) -> list[tuple[str, str]]:
        found = records.list(page_size=1, **conditions)
        return [(each.id.tenant, each.id.name) async for each in found]

    assert run(named()) == ids
    found = run(records.get("acme", "b1"))
    assert found is not None
    assert found.id.name == "b1"
    assert [each and each.id.name for each in run(records.get([ids[2], ("x", "y")]))] == [
        "a1",
        None,
    ]
    with pytest.raises(Exception, match=r"thing\.name: must not be empty"):
        run(records.get("acme", ""))
    assert run(named(tenant="acme")) == ids[:2]
    assert run(named(tenant="acme", name_prefix="b")) == ids[1:2]
    assert run(named(kind="y")) == []
    with pytest.raises(Exception, match="name_prefix: must be empty when no tenant is given"):
        run(named(name_prefix="b"))


def listed(things: Things, **conditions: Any) -> list[Any]:
    async def read() -> list[Any]:
        return [each async for each in things.records.list(**conditions)]

    return run(read())
