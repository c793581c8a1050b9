import pytest
from google.protobuf.message import Message
from hypothesis import given, strategies as st
from quorate.builtin.tenant.plugin import TENANTS as RESOURCE
from quorate.plugin import Rejected, keys
from quorate.plugin.resource import derive
from quorate.plugin.resource.tenants import TENANTS
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    FinishTenantCascade,
    FinishTenantCascades,
    MarkTenant,
    MarkTenants,
    Tenant,
    UpdateTenant,
    UpdateTenants,
)

HANDLERS = {each.message: each.apply for each in derive("tenant", [RESOURCE]).commands}


def apply_all(txn: MemoryTxn, command: Message) -> BatchReply:
    reply = HANDLERS[type(command)](txn, command)
    assert isinstance(reply, BatchReply)
    return reply


def only(reply: BatchReply) -> Tenant:
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)
    return Tenant.FromString(reply.replies[0])


def create(txn: MemoryTxn, item: CreateTenant) -> Tenant:
    return only(apply_all(txn, CreateTenants(tenants=[item])))


def update(txn: MemoryTxn, item: UpdateTenant) -> Tenant:
    return only(apply_all(txn, UpdateTenants(tenants=[item])))


def mark(txn: MemoryTxn, item: MarkTenant) -> Tenant:
    return only(apply_all(txn, MarkTenants(tenants=[item])))


def finish(txn: MemoryTxn, item: FinishTenantCascade) -> None:
    only(apply_all(txn, FinishTenantCascades(cascades=[item])))


def stored(txn: MemoryTxn, name: str = "acme") -> Tenant | None:
    row = txn.rows(TENANTS).get(keys.pack(name))
    return None if row is None else Tenant.FromString(row)


def marked(cascades: list[str]) -> tuple[MemoryTxn, Tenant]:
    txn = MemoryTxn(at_ms=1_000)
    create(txn, CreateTenant(name="acme"))
    later = txn.then(at_ms=2_000)
    return later, mark(later, MarkTenant(name="acme", cascades=cascades))


def test_a_tenant_is_stored_as_it_was_created() -> None:
    txn = MemoryTxn(at_ms=1_000)

    tenant = create(txn, CreateTenant(name="acme", description="all", limits={"topics": 2}))

    assert tenant == Tenant(
        name="acme", id=tenant.id, description="all", limits={"topics": 2}, created_at_ms=1_000
    )
    assert tenant.id > 0
    assert stored(txn) == tenant


def test_nobody_is_created_twice() -> None:
    txn = MemoryTxn()
    first = create(txn, CreateTenant(name="acme"))

    with pytest.raises(Rejected, match=r"ALREADY_EXISTS: tenant acme already exists: update it$"):
        create(txn, CreateTenant(name="acme", description="again"))

    assert stored(txn) == first


def test_the_name_of_one_that_is_being_deleted_is_still_taken() -> None:
    txn, _ = marked(["mqtt"])

    with pytest.raises(Rejected, match=r"ALREADY_EXISTS: .* wait until it is gone"):
        create(txn, CreateTenant(name="acme"))


def test_an_update_replaces_what_is_said_and_nothing_else() -> None:
    txn = MemoryTxn(at_ms=1_000)
    created = create(
        txn, CreateTenant(name="acme", description="all", limits={"topics": 2, "sessions": 3})
    )
    later = txn.then(at_ms=2_000)

    updated = update(later, UpdateTenant(name="acme", description="some", limits={"topics": 4}))

    assert updated == Tenant(
        name="acme", id=created.id, description="some", limits={"topics": 4}, created_at_ms=1_000
    )
    assert stored(later) == updated


def test_nobody_is_updated_who_is_not_there_or_goes() -> None:
    txn, before = marked(["mqtt"])

    with pytest.raises(Rejected, match="NOT_FOUND"):
        update(txn, UpdateTenant(name="bolt"))
    with pytest.raises(Rejected, match="FAILED_PRECONDITION"):
        update(txn, UpdateTenant(name="acme", description="new"))

    assert stored(txn) == before


def test_a_mark_names_what_is_to_be_done() -> None:
    txn, tenant = marked(["mqtt", "offset"])

    assert (tenant.deleting_at_ms, list(tenant.cascades)) == (2_000, ["mqtt", "offset"])
    assert stored(txn) == tenant


def test_a_mark_without_cascades_deletes() -> None:
    txn, tenant = marked([])

    assert tenant.deleting_at_ms == 2_000
    assert txn.rows(TENANTS) == {}


def test_a_mark_at_the_beginning_of_time_is_one() -> None:
    txn = MemoryTxn(at_ms=0)
    create(txn, CreateTenant(name="acme"))

    assert mark(txn, MarkTenant(name="acme", cascades=["a"])).deleting_at_ms == 1


def test_who_is_marked_stays_as_it_is() -> None:
    txn, before = marked(["mqtt", "offset"])
    later = txn.then(at_ms=3_000)

    again = mark(later, MarkTenant(name="acme", cascades=["spark"]))

    assert again == before
    assert stored(later) == before
    with pytest.raises(Rejected, match="NOT_FOUND"):
        mark(later, MarkTenant(name="bolt"))


@given(st.permutations(["engine", "mqtt", "offset"]), st.booleans())
def test_the_last_cascade_takes_the_tenant_along(order: list[str], twice: bool) -> None:
    txn, tenant = marked(["engine", "mqtt", "offset"])
    for done, cascade in enumerate(order, start=1):
        for _ in range(1 + twice):
            finish(txn, FinishTenantCascade(name="acme", id=tenant.id, cascade=cascade))
        left = stored(txn)
        assert (list(left.cascades) if left else []) == sorted(order[done:])
    assert txn.rows(TENANTS) == {}


@pytest.mark.parametrize("other", ["id", "cascade", "name"])
def test_what_is_said_of_another_changes_nothing(other: str) -> None:
    txn, tenant = marked(["mqtt"])
    done = FinishTenantCascade(name="acme", id=tenant.id, cascade="mqtt")
    setattr(done, other, tenant.id + 1 if other == "id" else "other")

    finish(txn, done)

    assert stored(txn) == tenant


def test_one_who_is_not_marked_is_not_removed() -> None:
    txn = MemoryTxn()
    tenant = create(txn, CreateTenant(name="acme"))

    finish(txn, FinishTenantCascade(name="acme", id=tenant.id, cascade="mqtt"))

    assert stored(txn) == tenant


def test_a_name_that_is_used_again_has_another_id() -> None:
    txn, gone = marked([])

    assert create(txn, CreateTenant(name="acme")).id > gone.id


def test_batches_answer_each_item() -> None:
    txn = MemoryTxn(at_ms=1)
    create(txn, CreateTenant(name="b"))

    created = apply_all(txn, CreateTenants(tenants=[CreateTenant(name=name) for name in "abc"]))
    updated = apply_all(
        txn, UpdateTenants(tenants=[UpdateTenant(name=name, description="new") for name in "axc"])
    )
    ids = {name: found.id for name in "abc" if (found := stored(txn, name)) is not None}
    marks = [MarkTenant(name="a", cascades=["m"]), MarkTenant(name="x"), MarkTenant(name="c")]
    deleted = apply_all(txn, MarkTenants(tenants=marks))
    finishes = [FinishTenantCascade(name="a", id=ids["a"], cascade="m")]
    finished = apply_all(txn, FinishTenantCascades(cascades=finishes))

    def told(reply: object) -> list[str]:
        assert hasattr(reply, "replies")
        return [Tenant.FromString(each).name for each in reply.replies]

    assert [(each.item, each.code) for each in created.refusals] == [(1, "ALREADY_EXISTS")]
    assert told(created) == ["a", "", "c"]
    assert [(each.item, each.code) for each in updated.refusals] == [(1, "NOT_FOUND")]
    assert [Tenant.FromString(each).description for each in updated.replies] == ["new", "", "new"]
    assert [(each.item, each.code) for each in deleted.refusals] == [(1, "NOT_FOUND")]
    assert told(deleted) == ["a", "", "c"]
    assert (finished.items, list(finished.refusals)) == (1, [])
    assert list(txn.rows(TENANTS)) == [keys.pack("b")]
