import pytest
from hypothesis import given, strategies as st
from quorate.builtin.resource import queries
from quorate.builtin.resource.apply import put_resource
from quorate.testing import MemoryTxn
from quorate.v1.resource_pb2 import GetResources, ListResources, PutResource, ResourcePage

PATHS = ["a", "settings", "settings/kv", "settings/mqtt", "settings/mqtt/a", "settings2", "z"]


def holding(paths: list[str], value: bytes = b"") -> MemoryTxn:
    txn = MemoryTxn()
    for path in paths:
        put_resource(txn, PutResource(path=path, value=value))
    return txn


def page_of(txn: MemoryTxn, query: ListResources) -> ResourcePage:
    [page] = queries.list_resources(txn, query)
    return page


def paths_of(page: ResourcePage) -> list[str]:
    return [stored.resource.path for stored in page.resources]


@pytest.mark.parametrize(
    ("query", "listed", "next_after"),
    [
        (ListResources(), PATHS, ""),
        (ListResources(prefix="settings/"), PATHS[2:5], ""),
        (ListResources(prefix="settings/", limit=2), PATHS[2:4], "settings/mqtt"),
        (ListResources(prefix="settings/", limit=3), PATHS[2:5], ""),
        (ListResources(prefix="settings/", after="settings/mqtt"), PATHS[4:5], ""),
        (ListResources(prefix="settings/", after="a"), PATHS[2:5], ""),
        (ListResources(prefix="settings/", after="z"), [], ""),
        (ListResources(prefix="nothing"), [], ""),
    ],
)
def test_a_page_holds_what_begins_with_the_prefix(
    query: ListResources, listed: list[str], next_after: str
) -> None:
    page = page_of(holding(PATHS), query)

    assert (paths_of(page), page.next_after) == (listed, next_after)


def test_a_page_without_a_limit_has_one() -> None:
    txn = holding([f"{number:03}" for number in range(queries.PAGE + 1)])

    page = page_of(txn, ListResources())

    assert (len(page.resources), page.next_after) == (queries.PAGE, "099")


def test_a_page_of_large_values_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 2_000)
    txn = holding(["a", "b", "c"], bytes(1_500))

    page = page_of(txn, ListResources())

    assert (paths_of(page), page.next_after) == (["a", "b"], "b")


@given(st.sets(st.text("ab/", min_size=1, max_size=4)), st.text("ab/", max_size=2))
def test_pages_hold_everything_once_and_in_order(paths: set[str], prefix: str) -> None:
    txn = holding(sorted(paths, reverse=True))

    found: list[str] = []
    after = ""
    while True:
        page = page_of(txn, ListResources(prefix=prefix, after=after, limit=2))
        found += paths_of(page)
        after = page.next_after
        if not after:
            break

    assert found == sorted(path for path in paths if path.startswith(prefix))


def test_those_that_are_found_come_in_the_order_of_the_question() -> None:
    txn = holding(PATHS)

    [found] = queries.get_resources(txn, GetResources(paths=["z", "nothing", "a"]))

    assert [stored.resource.path for stored in found.resources] == ["z", "a"]
    assert {stored.revision for stored in found.resources} == {txn.revision}
