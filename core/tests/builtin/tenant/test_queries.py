from asyncio import run

import pytest
from quorate.builtin.tenant import plugin
from quorate.plugin import keys
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants, ListTenants

NAMES = ["ab", "abc", "b", "ba", "c"]
CATALOG = build([Plugin(name="tenant", distribution="quorate", version="1", module=plugin)])


@pytest.mark.parametrize(
    ("request_", "listed", "token"),
    [
        (ListTenants(), NAMES, b""),
        (ListTenants(prefix="ab"), ["ab", "abc"], b""),
        (ListTenants(page_size=2), ["ab", "abc"], keys.pack("abc")),
        (ListTenants(page_token=keys.pack("abc"), page_size=2), ["b", "ba"], keys.pack("ba")),
        (ListTenants(prefix="b", page_token=keys.pack("a")), ["b", "ba"], b""),
        (ListTenants(prefix="b", page_token=keys.pack("c")), [], b""),
        (ListTenants(page_size=5), NAMES, b""),
    ],
)
def test_a_page_holds_what_begins_with_the_prefix(
    request_: ListTenants, listed: list[str], token: bytes
) -> None:
    service = MemoryNode(catalog=CATALOG).servicer("quorate.v1.TenantService")
    tenants = [CreateTenant(name=name) for name in reversed(NAMES)]
    run(service.CreateBatch(CreateTenants(tenants=tenants), None))

    page = run(service.List(request_, None))

    assert ([tenant.name for tenant in page.tenants], page.next_page_token) == (listed, token)
