import pytest
from quorate.builtin.tenant import queries
from quorate.builtin.tenant.apply import create_tenant
from quorate.testing import MemoryTxn
from quorate.v1.tenant_pb2 import CreateTenant, GetTenants, ListTenants, TenantPage

NAMES = ["ab", "abc", "b", "ba", "c"]


def holding(names: list[str], description: str = "") -> MemoryTxn:
    txn = MemoryTxn()
    for name in names:
        create_tenant(txn, CreateTenant(name=name, description=description))
    return txn


def page_of(txn: MemoryTxn, query: ListTenants) -> TenantPage:
    [page] = queries.list_tenants(txn, query)
    return page


@pytest.mark.parametrize(
    ("query", "listed", "next_after"),
    [
        (ListTenants(), NAMES, ""),
        (ListTenants(limit=2), ["ab", "abc"], "abc"),
        (ListTenants(limit=5), NAMES, ""),
        (ListTenants(after="abc", limit=2), ["b", "ba"], "ba"),
        (ListTenants(prefix="ab"), ["ab", "abc"], ""),
        (ListTenants(prefix="b", after="a"), ["b", "ba"], ""),
        (ListTenants(prefix="b", after="c"), [], ""),
    ],
)
def test_a_page_holds_names_in_order(
    query: ListTenants, listed: list[str], next_after: str
) -> None:
    page = page_of(holding(NAMES), query)

    assert ([tenant.name for tenant in page.tenants], page.next_after) == (listed, next_after)


def test_a_page_without_a_limit_has_one() -> None:
    page = page_of(holding([f"{number:03}" for number in range(101)]), ListTenants())

    assert (len(page.tenants), page.next_after) == (queries.PAGE, "099")


def test_a_page_of_large_rows_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 1_500)

    page = page_of(holding(["a", "b", "c"], "x" * 1_000), ListTenants())

    assert ([tenant.name for tenant in page.tenants], page.next_after) == (["a", "b"], "b")


def test_those_that_there_are_are_found() -> None:
    [found] = queries.get_tenants(holding(NAMES), GetTenants(names=["c", "nobody", "ab"]))

    assert [tenant.name for tenant in found.tenants] == ["c", "ab"]
