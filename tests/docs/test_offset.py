"""The pages on offsets: their examples run against a cluster, their tables are the code's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.client import Client
from quorate.shards.routing.query_router import GRACE_S
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset import families, names
from quorate_offset.cli import offset
from quorate_offset.client import Committer, Offsets, SubscriptionGroups, SyncOffsets
from quorate_offset.client.pending import FINAL
from quorate_offset.expiry import PATH, OffsetSettings
from quorate_offset.offsets import validation
from quorate_offset.subscriptions.apply import MOST_OF_A_KIND, new_group
from quorate_offset.v1 import service_pb2, subscription_group_service_pb2
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit, SubscriptionGroupChange

from tests.support.pages import leaves, options_of, told_below

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "offset.md"
HOW_TO = ROOT / "docs" / "how-to" / "commit-offsets.md"
CODE = ROOT / "plugins" / "offset" / "src" / "quorate_offset"
TEXT = PAGE.read_text(encoding="utf-8")
#: It does not matter where lines end.
PROSE = " ".join(TEXT.split())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("offset")
    settings = {"groups": {families.GROUP: {"shards": 2}}}
    with Cluster(directory, nodes=1, plugins=["offset"], settings=settings) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="acme"), Tenant)
            # On both shards.
            probes = [
                GroupCommit(
                    tenant="acme",
                    group=f"probe {number}",
                    commits=[OffsetCommit(topic="probe", offset=1)],
                )
                for number in range(16)
            ]
            until(lambda: not SyncOffsets(q).commit_many(probes).refusals)
        yield cluster


def example(page: Path, number: int) -> dict[str, Any]:
    """Run a block of Python of a page, and return what it defines."""
    blocks = re.findall(
        r"^```python\n(.+?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    scope: dict[str, Any] = {}
    exec(compile(blocks[number], str(page), "exec"), scope)
    return scope


async def test_the_first_example_commits_fetches_and_tells_the_lag(cluster: Cluster) -> None:
    found = await example(PAGE, 0)["main"](cluster.endpoints)
    assert found == (42, "worker 7", 11)
    assert f"returns `{found}`".replace("'", '"') in PROSE


async def test_offsets_are_committed_while_records_are_consumed(cluster: Cluster) -> None:
    records = [("orders", number % 2, 100 + number) for number in range(10)]
    found = await example(HOW_TO, 0)["consume"](cluster.endpoints, records)
    assert (found["orders", 0], found["orders", 1]) == (109, 110)


async def test_whoever_takes_over_fences_the_others(cluster: Cluster) -> None:
    take_over = example(HOW_TO, 1)["take_over"]
    first, code = await take_over(cluster.endpoints, 7)
    assert code == "FENCED"
    assert await take_over(cluster.endpoints, 8) == (first + 1, "FENCED")


async def test_of_two_claims_each_is_made_once(cluster: Cluster) -> None:
    claim = example(HOW_TO, 2)["claim"]
    assert await claim(cluster.endpoints, "worker 1", 10) == 0
    assert await claim(cluster.endpoints, "worker 2", 10) == 10


async def test_many_groups_are_imported_and_the_refused_named(cluster: Cluster) -> None:
    rows = [("a", "x", 0, 5), ("b", "x", 0, -5), ("a", "x", 1, 6), ("b", "x", 1, 7)]
    refused = await example(HOW_TO, 3)["import_offsets"](cluster.endpoints, rows)
    assert refused == [("b", 0, "INVALID_ARGUMENT")]


async def test_a_replica_follows(cluster: Cluster) -> None:
    import_offsets = example(HOW_TO, 3)["import_offsets"]
    follow = example(HOW_TO, 4)["follow"]
    await import_offsets(cluster.endpoints, [("followed", "x", 0, 5)])
    replica: dict[tuple[str, str], tuple[int, list[Any]]] = {}
    token: dict[int, int] = {}
    await follow(cluster.endpoints, replica, token)
    assert {("acme", "followed"), ("acme", "probe 3")} <= set(replica)
    assert set(token) == {0, 1}

    replica.clear()
    await import_offsets(cluster.endpoints, [("followed", "x", 1, 6)])
    await follow(cluster.endpoints, replica, token)
    [(name, (_, offsets))] = replica.items()
    assert name == ("acme", "followed")
    assert [each.offset for each in offsets] == [5, 6]

    # Ahead of the shards, as behind a backup that was restored.
    replica["acme", "gone"] = 0, []
    token[0] *= 2
    await follow(cluster.endpoints, replica, token)
    assert ("acme", "gone") not in replica


def section(title: str) -> str:
    """Return what stands below a heading."""
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """Return what is in backticks in the first cells of the tables of a text."""
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize(
    ("module", "service"),
    [
        (service_pb2, "OffsetService"),
        (subscription_group_service_pb2, "SubscriptionGroupService"),
    ],
)
def test_every_method_of_the_services_is_told(module: Any, service: str) -> None:
    declared = module.DESCRIPTOR.services_by_name[service].methods
    told = first_cells(section(f"`quorate_offset.v1.{service}`"))
    assert [each for each in told if each[0].isupper()] == [method.name for method in declared]


def test_every_reason_is_told() -> None:
    # Nothing else in these files is a text in capitals.
    raised = {
        code
        for path in CODE.rglob("*.py")
        if not {"v1", "client", "expiry"} & set(path.parts)
        for code in re.findall(r'"([A-Z_]{5,})"', path.read_text(encoding="utf-8"))
    }
    # Of a tenant that is being deleted, which the kit of resources refuses.
    assert set(first_cells(section("Reasons"))) == raised | {"FAILED_PRECONDITION"}


def test_every_default_of_a_subscription_group_is_told() -> None:
    told = dict(
        re.findall(
            r"^\| `(\w+)` \| (true|false|\d+) \|$",
            section("`quorate_offset.v1.SubscriptionGroupService`"),
            re.MULTILINE,
        )
    )
    group = new_group("t", "g", 1)
    optional = [
        field.name
        for field in SubscriptionGroupChange.DESCRIPTOR.fields
        if field.containing_oneof is not None
    ]
    assert told == {name: str(getattr(group, name)).lower() for name in optional}


def test_every_method_of_the_client_is_told() -> None:
    text = section("The Python client")
    methods, _, committer = text.partition("### Committer")
    told = [name for name in first_cells(methods) if name[0].islower()]
    declared = [
        name
        for helper in (Offsets, SubscriptionGroups)
        for name in vars(helper)
        if not name.startswith("_")
    ]
    assert sorted(told) == sorted(declared)
    final = committer.partition("for good (")[2].partition(")")[0]
    assert set(re.findall(r"`(\w+)`", final)) | {"BEHIND"} == FINAL
    assert sorted(first_cells(committer)) == sorted(
        name for name in vars(Committer) if not name.startswith("_")
    )
    defaults = inspect.signature(Offsets.committer).parameters
    for name in ("monotonic", "interval_s", "timeout_s"):
        assert f"{name}={defaults[name].default}" in committer


def test_every_command_and_its_options_are_told() -> None:
    assert told_below("offset", TEXT) == {words: options_of(each) for words, each in leaves(offset)}


def test_the_limits_are_those_that_are_told() -> None:
    assert f"1 to {names.LONGEST_NAME} characters" in PROSE
    assert f"metadata at most {validation.LONGEST_METADATA:,}" in PROSE
    assert f"Commits at most {validation.MOST_OFFSETS:,} offsets" in PROSE
    assert PROSE.count(f"at most {validation.MOST_GROUPS:,} groups") == 3
    assert f"at most {validation.LARGEST_PAGE:,}. `next_page_token`" in PROSE
    assert f"at most {validation.MOST_CHANGES:,}. " in PROSE
    assert f"are at most {MOST_OF_A_KIND:,} of each in a group" in PROSE
    assert ("half a second after the others" in PROSE) == (GRACE_S == 0.5)
    assert f"resource](resource.md) `{PATH}`" in PROSE
    assert f'{{"group_expire_s": {OffsetSettings().group_expire_s}}}' in PROSE
    for family in families.FAMILIES:
        assert (f"`{family.name}`, of" in PROSE) == (family.row is not None)
