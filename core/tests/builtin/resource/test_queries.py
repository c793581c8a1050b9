from asyncio import run

import pytest
from hypothesis import given, strategies as st
from quorate.builtin.resource import plugin
from quorate.plugin import keys
from quorate.plugin.catalog import build
from quorate.plugin.checking import PAGE
from quorate.plugin.discovery import Plugin
from quorate.plugin.resource import reading
from quorate.testing import MemoryNode
from quorate.v1.resource_pb2 import (
    GetResources,
    ListResources,
    PutResource,
    PutResources,
    ResourcePage,
)

PATHS = ["a", "settings", "settings/kv", "settings/mqtt", "settings/mqtt/a", "settings2", "z"]
CATALOG = build([Plugin(name="resource", distribution="quorate", version="1", module=plugin)])
SERVICE = "quorate.v1.ResourceService"


def holding(paths: list[str], value: bytes = b"") -> MemoryNode:
    node = MemoryNode(catalog=CATALOG)
    puts = [PutResource(path=path, value=value) for path in paths]
    if puts:
        run(node.servicer(SERVICE).PutBatch(PutResources(puts=puts), None))
    return node


def page_of(node: MemoryNode, request: ListResources) -> ResourcePage:
    page = run(node.servicer(SERVICE).List(request, None))
    assert isinstance(page, ResourcePage)
    return page


def paths_of(page: ResourcePage) -> list[str]:
    return [stored.resource.path for stored in page.resources]


def after(path: str) -> bytes:
    return keys.pack(path)


@pytest.mark.parametrize(
    ("request_", "listed", "token"),
    [
        (ListResources(), PATHS, b""),
        (ListResources(prefix="settings/"), PATHS[2:5], b""),
        (ListResources(prefix="settings/", page_size=2), PATHS[2:4], after("settings/mqtt")),
        (ListResources(prefix="settings/", page_size=3), PATHS[2:5], b""),
        (ListResources(prefix="settings/", page_token=after("settings/mqtt")), PATHS[4:5], b""),
        (ListResources(prefix="settings/", page_token=after("a")), PATHS[2:5], b""),
        (ListResources(prefix="settings/", page_token=after("z")), [], b""),
        (ListResources(prefix="nothing"), [], b""),
    ],
)
def test_a_page_holds_what_begins_with_the_prefix(
    request_: ListResources, listed: list[str], token: bytes
) -> None:
    page = page_of(holding(PATHS), request_)

    assert (paths_of(page), page.next_page_token) == (listed, token)


def test_a_page_without_a_size_has_one() -> None:
    node = holding([f"{number:03}" for number in range(PAGE + 1)])

    page = page_of(node, ListResources())

    assert (len(page.resources), page.next_page_token) == (PAGE, after("099"))


def test_a_page_of_large_values_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES", 2_000)
    node = holding(["a", "b", "c"], bytes(1_500))

    page = page_of(node, ListResources())

    assert (paths_of(page), page.next_page_token) == (["a", "b"], after("b"))


@given(st.sets(st.text("ab/", min_size=1, max_size=4)), st.text("ab/", max_size=2))
def test_pages_hold_everything_once_and_in_order(names: set[str], prefix: str) -> None:
    paths = {f"x{name.replace('/', '.')}" for name in names}
    prefix = f"x{prefix.replace('/', '.')}"
    node = holding(sorted(paths, reverse=True))

    found: list[str] = []
    token = b""
    while True:
        page = page_of(node, ListResources(prefix=prefix, page_token=token, page_size=2))
        found += paths_of(page)
        token = page.next_page_token
        if not token:
            break

    assert found == sorted(path for path in paths if path.startswith(prefix))


def test_those_that_are_found_come_in_the_order_of_the_question() -> None:
    node = holding(PATHS)
    request = GetResources(paths=["z", "nothing", "a"])

    found = run(node.servicer(SERVICE).GetBatch(request, None))

    assert [stored.resource.path for stored in found.resources] == ["z", "a"]
    assert len({stored.revision for stored in found.resources}) == 1
