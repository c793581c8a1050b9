"""Flags over shards in memory: through the typed clients, and on the command line."""

from __future__ import annotations

from asyncio import run
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from quorate.client import AsyncClient, InvalidError, RejectedError
from quorate.plugin import Rejected
from quorate.testing import Cli, MemoryClient, MemoryNode, MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants
from quorate_featureflags.plugin import Environment, Flag, FlagType, Project, Rule, Segment, retire
from quorate_featureflags.v1.rows_client import Environments, Flags, Projects, Segments

PROD = ("acme", "shop", "prod")
DARK = (*PROD, "dark")


def flag(key: str) -> Flag:
    return Flag(
        tenant="acme",
        project="shop",
        environment="prod",
        key=key,
        type=FlagType.BOOLEAN,
        default_value="no",
        labels={"team": "web"},
    )


@asynccontextmanager
async def shop() -> AsyncIterator[tuple[MemoryNode, AsyncClient]]:
    """Yield a node with an environment and a flag in it."""
    node = MemoryNode(["featureflags", "tenant"], shards={"featureflags": 4}, at_ms=1_000)
    q = cast("AsyncClient", MemoryClient(node))
    await node.propose(CreateTenants(tenants=[CreateTenant(name="acme")]), BatchReply)
    await Projects(q).create(Project(tenant="acme", project="shop", owner="ada"))
    await Environments(q).create(Environment(tenant="acme", project="shop", environment="prod"))
    await Flags(q).create(flag("dark"))
    async with node:
        yield node, q


def with_shop(do: Callable[[MemoryNode, AsyncClient], Awaitable[Any]]) -> None:
    async def go() -> None:
        async with shop() as (node, q):
            await do(node, q)

    run(go())


def test_a_verb_alone() -> None:
    with pytest.raises(Rejected, match="NOT_FINISHED"):
        retire(MemoryTxn(), flag("dark"), before_ms=5)


def test_a_rollout_compares_the_version() -> None:
    async def do(_: MemoryNode, q: AsyncClient) -> None:
        flags = Flags(q)
        rolled = await flags.rollout(*DARK, rules=[Rule(value="yes", percent=10)])
        assert (rolled.version, rolled.rules[0].percent) == (1, 10)
        with pytest.raises(RejectedError, match="VERSION_MISMATCH: the version is 1"):
            await flags.rollout(*DARK, rules=[], expected_version=0)
        with pytest.raises(InvalidError, match=r"rules\[0\].percent: must be from 0 to 100"):
            await flags.rollout(*DARK, rules=[Rule(value="yes", percent=101)])
        with pytest.raises(RejectedError, match="there is no segment beta"):
            await flags.rollout(*DARK, rules=[Rule(value="yes", segment="beta")])
        assert [each.key async for each in flags.list(labels={"team": "web"})] == ["dark"]
        assert await flags.count(ruled=False) == 0
        await Environments(q).update(*PROD, frozen=True)
        with pytest.raises(RejectedError, match="FROZEN"):
            await flags.rollout(*DARK, rules=[])

    with_shop(do)


def test_a_finished_flag_is_retired() -> None:
    async def do(node: MemoryNode, q: AsyncClient) -> None:
        await Flags(q).rollout(*DARK, rules=[Rule(value="yes", percent=100)])
        await node.run_controller("featureflags.retiring")
        assert (await Flags(q).get(*DARK)) != flag("dark")
        await node.advance(2 * 86_400_000)
        await node.run_controller("featureflags.retiring")
        retired = await Flags(q).get(*DARK)
        assert retired is not None
        assert (retired.default_value, retired.rules, retired.version) == ("yes", [], 2)

    with_shop(do)


def test_a_segment_ends_and_a_project_goes_with_all_it_has() -> None:
    async def do(node: MemoryNode, q: AsyncClient) -> None:
        segments = Segments(q)
        beta = Segment(tenant="acme", project="shop", environment="prod", name="beta", ttl_ms=500)
        await segments.create(beta)
        await segments.extend(*PROD, "beta", ttl_ms=2_000)
        await node.advance(1_000)
        assert await segments.get(*PROD, "beta") is not None
        await node.advance(1_500)
        assert await segments.get(*PROD, "beta") is None
        await Projects(q).delete("acme", "shop")
        assert await Flags(q).count() == 0
        with pytest.raises(RejectedError, match="there is no environment prod of shop of acme"):
            await Flags(q).create(flag("light"))

    with_shop(do)


def test_flags_on_the_command_line() -> None:
    async def do(node: MemoryNode, _: AsyncClient) -> None:
        with Cli(node) as cli:
            made = cli.run(
                *("featureflags", "flags", "create", *PROD, "light"),
                *("--type", "text", "--default-value", "dim", "--labels", "team=app"),
            )
            assert made.exit_code == 0, made.error
            cli.run("featureflags", "flags", "update", *PROD, "light", "--default-value", "off")
            rows = cli.run("featureflags", "flags", "list", "--type", "text").rows
            assert [row["default_value"] for row in rows] == ["off"]
            states = cli.run("featureflags", "flags-states", "list", *PROD, "light").rows
            assert [row["number"] for row in states] == [1, 2]

    run(do(*run(_entered())))


async def _entered() -> tuple[MemoryNode, AsyncClient]:
    async with shop() as found:
        return found
