"""Flags over shards in memory: through the typed clients, and on the command line."""

from asyncio import run
from collections.abc import Iterator

import pytest
from quorate.client import InvalidError, RejectedError
from quorate.plugin import Rejected
from quorate.testing import Cli, MemoryNode, MemoryTxn
from quorate_featureflags.plugin import Environment, Flag, FlagType, Project, Rule, Segment, retire
from quorate_featureflags.v1 import rows_client as clients

PROD = ("acme", "shop", "prod")
DARK = (*PROD, "dark")
FLAG = Flag(
    tenant="acme",
    project="shop",
    environment="prod",
    key="dark",
    type=FlagType.BOOLEAN,
    default_value="no",
    labels={"team": "web"},
)


@pytest.fixture
def cli() -> Iterator[Cli]:
    node = MemoryNode(["featureflags", "tenant"], shards={"featureflags": 4}, at_ms=1_000)
    with Cli(node) as cli:
        assert cli.run("tenant", "create", "acme").exit_code == 0
        clients.SyncProjects(cli.client).create(Project(tenant="acme", project="shop", owner="ada"))
        prod = Environment(tenant="acme", project="shop", environment="prod")
        clients.SyncEnvironments(cli.client).create(prod)
        clients.SyncFlags(cli.client).create(FLAG)
        yield cli


def test_a_verb_alone() -> None:
    with pytest.raises(Rejected, match="NOT_FINISHED"):
        retire(MemoryTxn(), FLAG, before_ms=5)


def test_a_rollout_compares_the_version(cli: Cli) -> None:
    flags = clients.SyncFlags(cli.client)
    rolled = flags.rollout(*DARK, rules=[Rule(value="yes", percent=10)])
    assert (rolled.version, rolled.rules[0].percent) == (1, 10)
    with pytest.raises(RejectedError, match="VERSION_MISMATCH: the version is 1"):
        flags.rollout(*DARK, rules=[], expected_version=0)
    with pytest.raises(InvalidError, match=r"rules\[0\].percent: must be from 0 to 100"):
        flags.rollout(*DARK, rules=[Rule(value="yes", percent=101)])
    with pytest.raises(RejectedError, match="there is no segment beta"):
        flags.rollout(*DARK, rules=[Rule(value="yes", segment="beta")])
    assert [each.key for each in flags.list(labels={"team": "web"})] == ["dark"]
    assert flags.count(ruled=False) == 0
    clients.SyncEnvironments(cli.client).update(*PROD, frozen=True)
    with pytest.raises(RejectedError, match="FROZEN"):
        flags.rollout(*DARK, rules=[])


def test_a_finished_flag_is_retired(cli: Cli) -> None:
    node, flags = node_of(cli), clients.SyncFlags(cli.client)
    flags.rollout(*DARK, rules=[Rule(value="yes", percent=100)])
    run(node.advance(2 * 86_400_000))
    run(node.run_controller("featureflags.retiring"))
    [retired] = flags.list()
    assert (retired.default_value, retired.rules, retired.version) == ("yes", [], 2)


def test_a_segment_ends_and_a_project_goes_with_all_it_has(cli: Cli) -> None:
    node, segments = node_of(cli), clients.SyncSegments(cli.client)
    tenant, project, environment = PROD
    beta = Segment(tenant=tenant, project=project, environment=environment, name="beta", ttl_ms=500)
    segments.create(beta)
    segments.extend(*PROD, "beta", ttl_ms=2_000)
    run(node.advance(1_000))
    assert segments.get(*PROD, "beta") is not None
    run(node.advance(1_500))
    assert segments.get(*PROD, "beta") is None
    clients.SyncProjects(cli.client).delete("acme", "shop")
    assert clients.SyncFlags(cli.client).count() == 0
    with pytest.raises(RejectedError, match="there is no environment prod"):
        clients.SyncFlags(cli.client).create(FLAG)


def test_flags_on_the_command_line(cli: Cli) -> None:
    flags = ("featureflags", "flag")
    ran = cli.run(*flags, "create", *PROD, "light", "--type", "text", "--default-value", "dim")
    assert ran.exit_code == 0, ran.error
    ran = cli.run(*flags, "rollout", *PROD, "light", "--rules", '[{"value": "on", "percent": 5}]')
    assert ran.rows[0]["version"] == 1
    ran = cli.run(*flags, "rollout", *PROD, "light")
    assert (ran.exit_code, "would empty rules" in ran.error) == (2, True)
    assert cli.run(*flags, "get", *PROD, "light").rows[0]["version"] == 1
    assert [row["key"] for row in cli.run(*flags, "list", "--type", "text").rows] == ["light"]
    states = cli.run("featureflags", "flags-state", "list", *PROD, "light").rows
    assert [row["number"] for row in states] == [1, 2]


def node_of(cli: Cli) -> MemoryNode:
    return cli.client.asynchronous.node  # type: ignore[attr-defined,no-any-return]  # in memory
