"""Quotas: rates, what is open and what is stored, of tenants and callers."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest
from quorate.plugin import Caller, Command, Items, keys
from quorate.shards.refusals import ExhaustedError
from quorate.shards.routing.quotas import (
    ADDRESS,
    CALLS,
    IDENTITY,
    TENANT,
    Quotas,
    Rate,
    Subject,
    subject_of,
)
from quorate.v1 import quota_pb2 as pb, tenant_pb2
from quorate.v1.batch_pb2 import ItemRefusal

ADA = Subject(IDENTITY, "ada")
CALLER = Caller(name="ada")


def puts(*tenants: str) -> tenant_pb2.FinishTenantCascades:
    """A message of items that each have a tenant: their names."""
    cascades = [tenant_pb2.FinishTenantCascade(name=each) for each in tenants]
    return tenant_pb2.FinishTenantCascades(cascades=cascades)


def command(*, frees: bool = False) -> Command[Any]:
    return Command(
        message=tenant_pb2.FinishTenantCascades,
        group="metadata",
        items=Items(
            get=attrgetter("cascades"),
            shard_key=lambda _: b"",
            make=lambda message, _: message,
            tenant=attrgetter("name"),
        ),
        examples=(),
        apply=lambda txn, message: None,
        frees=frees,
    )


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quotas(clock: Clock) -> Quotas:
    return Quotas(clock)


def put(quotas: Quotas, **fields: Any) -> None:
    row = pb.Quota(**fields)
    quotas.put("tenant.quotas", keys.pack(row.kind, row.name), row.SerializeToString())


def store(quotas: Quotas, tenant: str, shard: str, rows: int, size: int) -> None:
    row = pb.TenantUsage(tenant=tenant, shard=shard, rows=rows, bytes=size)
    quotas.put("tenant.usages", keys.pack(tenant, shard), row.SerializeToString())


def charged(quotas: Quotas, *tenants: str, frees: bool = False) -> bool:
    try:
        quotas.charge(command(frees=frees), puts(*tenants), CALLER)
    except ExhaustedError:
        return False
    return True


def test_without_quotas_nothing_is_counted(quotas: Quotas) -> None:
    assert not quotas.on
    assert quotas.account(ADA) is None
    put(quotas, kind="identity", name="ada", commands_per_s=1)
    assert not all(charged(quotas, "a") for _ in range(10))
    quotas.delete("tenant.quotas", keys.pack("identity", "ada"))
    assert all(charged(quotas, "a") for _ in range(10))


def test_a_rate_lets_a_second_of_it_through_and_then_what_comes_in_time(
    quotas: Quotas, clock: Clock
) -> None:
    put(quotas, kind="identity", name="ada", commands_per_s=10)
    assert [charged(quotas, "a") for _ in range(11)] == [True] * 10 + [False]

    with pytest.raises(ExhaustedError, match="identity ada has sent its 10 commands") as refused:
        quotas.charge(command(), puts("a"), CALLER)

    assert refused.value.quota == "identity/ada/commands_per_s"
    clock.now += refused.value.retry_after_ms / 1_000
    assert charged(quotas, "a")


def test_a_batch_counts_its_items_and_leaves_a_debt(quotas: Quotas, clock: Clock) -> None:
    put(quotas, kind="identity", name="ada", commands_per_s=10)
    assert charged(quotas, *"abcdefghijklmnopqrstuvwxyzabcd")
    assert not charged(quotas, "a")
    clock.now += 1.9
    assert not charged(quotas, "a")
    clock.now += 0.2
    assert charged(quotas, "a")


def test_a_rate_over_a_long_time_is_what_it_says(clock: Clock) -> None:
    rate, through = Rate(100, clock.now), 0
    for _ in range(10_000):
        clock.now += 0.001
        if not rate.wait_ms(clock.now):
            rate.take(1, clock.now)
            through += 1
    assert 1_000 <= through <= 1_101
    assert rate.last(clock.now) == 100


def test_a_tenant_is_charged_for_its_own_items_whoever_sends_them(quotas: Quotas) -> None:
    put(quotas, kind="tenant", name="acme", commands_per_s=2)
    assert charged(quotas, "acme", "bolt", "bolt", "bolt")
    assert charged(quotas, "acme")
    assert not charged(quotas, "acme")
    assert charged(quotas, "bolt")


def test_a_command_that_is_refused_counts_for_nobody(quotas: Quotas) -> None:
    put(quotas, kind="identity", name="ada", commands_per_s=3)
    put(quotas, kind="tenant", name="acme", commands_per_s=1)
    assert charged(quotas, "acme")
    assert not charged(quotas, "acme", "acme")
    assert [charged(quotas, "bolt") for _ in range(3)] == [True, True, False]


def test_who_has_no_quota_of_its_own_has_that_of_everyone(quotas: Quotas) -> None:
    put(quotas, kind="tenant", name="*", commands_per_s=1)
    put(quotas, kind="tenant", name="acme", commands_per_s=2)
    assert [charged(quotas, "acme") for _ in range(3)] == [True, True, False]
    assert [charged(quotas, "bolt") for _ in range(2)] == [True, False]
    assert [charged(quotas, "cog") for _ in range(2)] == [True, False]


def test_a_tenant_without_more_has_its_items_refused_and_no_others(quotas: Quotas) -> None:
    put(quotas, kind="tenant", name="acme", commands_per_s=1)
    put(quotas, kind="tenant", name="bolt", rows=1)
    put(quotas, kind="identity", name="ada", commands_per_s=3)
    store(quotas, "bolt", "mqtt/0", 1, 10)
    assert charged(quotas, "acme")

    found = quotas.charge(command(), puts("acme", "cog", "bolt", "cog"), CALLER)

    assert [(each.item, each.code) for each in found] == [
        (0, "RESOURCE_EXHAUSTED"),
        (2, "RESOURCE_EXHAUSTED"),
    ]
    assert "tenant acme has sent its 1 commands" in found[0].message
    assert "tenant bolt has 1 of its 1 rows" in found[1].message
    # Its sender is charged for the two that were carried out.
    assert not charged(quotas, "cog")


def test_items_that_are_refused_already_count_for_nobody(quotas: Quotas) -> None:
    put(quotas, kind="tenant", name="acme", commands_per_s=1)
    put(quotas, kind="identity", name="ada", commands_per_s=2)
    gone = (ItemRefusal(item=0, code="PERMISSION_DENIED"),)

    assert quotas.charge(command(), puts("acme", "bolt"), CALLER, gone) == ()
    assert charged(quotas, "acme")
    assert not charged(quotas, "bolt")


def test_who_has_no_name_is_counted_by_its_address() -> None:
    assert subject_of(Caller(address="10.0.0.1")) == Subject(ADDRESS, "10.0.0.1")
    assert subject_of(Caller(name="ada", address="10.0.0.1")) == ADA


def test_who_is_not_known_at_all_is_not_counted(quotas: Quotas) -> None:
    put(quotas, kind="address", name="*", commands_per_s=1)
    for _ in range(5):
        assert quotas.charge(command(), puts("acme"), Caller()) == ()


def test_who_has_stored_all_it_may_can_only_delete(quotas: Quotas) -> None:
    put(quotas, kind="tenant", name="acme", rows=10, bytes=1_000)
    assert quotas.measures
    store(quotas, "acme", "mqtt/0", 4, 400)
    store(quotas, "acme", "mqtt/1", 5, 500)
    assert charged(quotas, "acme")
    store(quotas, "acme", "mqtt/1", 6, 500)
    with pytest.raises(ExhaustedError, match=r"has 10 of its 10 rows.*\(quota rows\)"):
        quotas.charge(command(), puts("acme"), CALLER)
    assert charged(quotas, "acme", frees=True)
    assert charged(quotas, "bolt")
    quotas.delete("tenant.usages", keys.pack("acme", "mqtt/1"))
    assert charged(quotas, "acme")
    store(quotas, "acme", "mqtt/1", 1, 600)
    assert not charged(quotas, "acme")


def test_watches_and_connections_are_bounded_by_count(quotas: Quotas) -> None:
    put(quotas, kind="address", name="*", watches=1, connections=2)
    account = quotas.account(Subject(ADDRESS, "10.0.0.1"))
    assert account is not None
    account.open_watch()
    with pytest.raises(ExhaustedError, match="its 1 watches"):
        account.open_watch()
    assert account.connect("a")
    assert account.connect("b")
    assert not account.connect("a")
    with pytest.raises(ExhaustedError, match="its 2 connections"):
        account.connect("c")
    uses = [(name, most, used, refused) for _, name, most, used, refused in quotas.uses()]
    assert uses == [("watches", 1, 1, 1), ("connections", 2, 2, 1)]


def test_a_changed_quota_counts_at_once_and_forgets_nothing(quotas: Quotas) -> None:
    put(quotas, kind="identity", name="ada", watches=2, calls_per_s=1)
    account = quotas.account(ADA)
    assert account is not None
    account.open_watch()
    account.take(CALLS, 1, 1_000.0)
    put(quotas, kind="identity", name="ada", watches=1, calls_per_s=1)
    assert quotas.account(ADA) is account
    with pytest.raises(ExhaustedError):
        account.open_watch()
    with pytest.raises(ExhaustedError):
        account.check_rate(CALLS, 1_000.0)


def test_what_is_used_is_told_of_each_bound(quotas: Quotas, clock: Clock) -> None:
    put(quotas, kind="tenant", name="acme", rows=10, commands_per_s=50)
    store(quotas, "acme", "mqtt/0", 4, 400)
    charged(quotas, "acme", "acme", "acme")
    clock.now += 1
    told = {(str(subject), name): (most, used) for subject, name, most, used, _ in quotas.uses()}
    assert told == {
        ("tenant acme", "rows"): (10, 4),
        ("tenant acme", "commands_per_s"): (50, 3),
    }
    assert TENANT == "tenant"
