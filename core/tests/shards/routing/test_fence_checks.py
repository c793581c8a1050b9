"""Fences of callers: whose name it is, and whether its token was given out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from quorate.plugin import Caller, Fence, NodeApi, Rejected, keys
from quorate.plugin.access import Open, Rights
from quorate.plugin.advanced import FENCE_NAMES, FenceNames, Grant
from quorate.plugin.catalog import Catalog
from quorate.shards.router import Answer, Proposal

from core.tests.shards.routing.conftest import Cluster

ADA = Caller(name="ada")


def lock(token: int) -> Fence:
    return Fence(keys.pack("lock", "jobs"), token)


class Asking(Open):
    """Knows ada, who may write notes, and has these grants besides."""

    def __init__(self, *grants: Grant) -> None:
        self.enabled: bool | None = True
        self.grants = (Grant(right="admin", domain="sample"), *grants)

    def rights(self, name: str) -> Rights:
        return Rights(name, self.grants)


class Fenced:
    """Nodes b and a, which leads the shard; tokens of locks up to 7 were given out."""

    def __init__(self, catalog: Catalog, pb: Any, here: Open, leader: Open) -> None:
        self.asked: list[int] = []
        kinds = {
            "locks": FenceNames(
                word="lock", domain="locks", key=lambda name: "jobs", given=self.given
            ),
            "own": FenceNames(word="", domain="kv", key=lambda name: name),
        }
        changed = replace(catalog, extensions={**catalog.extensions, FENCE_NAMES: kinds})
        self.cluster = Cluster(changed, {"b": here, "a": leader})
        self.cluster.host(1)
        for node in self.cluster.nodes.values():
            node.groups.admissions.node = self  # type: ignore[assignment]
        self.note = pb.WriteNote(owner="a")

    async def given(self, node: NodeApi, fence: Fence) -> bool:
        self.asked.append(fence.token)
        return fence.token <= 7

    def write(self, fence: Fence, caller: Caller = ADA) -> Sequence[str]:
        """Write by every way in, and return what each was refused with."""
        groups = self.cluster.nodes["b"].groups
        proposal = Proposal(self.note, groups.deadline(), fence=fence)
        answers: list[Answer | Exception] = []
        ordered = groups.ordered(caller=caller)
        ordered.put(proposal, answers.append)
        answers += self.cluster.run(groups.propose_many([proposal], caller=caller))
        try:
            answers.append(self.cluster.run(groups.propose(self.note, fence=fence, caller=caller)))
        except Rejected as refusal:
            answers.append(refusal)
        return [getattr(each, "code", "") for each in answers]


@pytest.mark.parametrize(
    ("fence", "code"),
    [(lock(7), ""), (lock(8), "FENCED"), (Fence(b"own", (1 << 64) - 1), "")],
)
def test_a_token_of_a_plugin_is_let_through_if_it_gave_it_out(
    catalog: Catalog, pb: Any, fence: Fence, code: str
) -> None:
    assert Fenced(catalog, pb, Open(), Open()).write(fence) == [code] * 3


def test_a_token_is_asked_for_once(catalog: Catalog, pb: Any) -> None:
    fenced = Fenced(catalog, pb, Open(), Open())
    fenced.write(lock(7))
    fenced.asked.clear()

    assert fenced.write(lock(7)) == ["", "", ""]
    assert fenced.asked == []


def test_a_fence_of_a_node_itself_is_believed(catalog: Catalog, pb: Any) -> None:
    fenced = Fenced(catalog, pb, Open(), Open())

    assert fenced.write(lock(8), Caller(node=True)) == ["", "", ""]
    assert fenced.asked == []


def test_nobody_is_asked_until_all_nodes_can_answer(
    catalog: Catalog, pb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.tests.shards.routing.conftest.CORE_LEVEL", 3)

    assert Fenced(catalog, pb, Open(), Open()).write(lock(8)) == ["", "", ""]


@pytest.mark.parametrize("forwarded", [False, True])
@pytest.mark.parametrize(
    ("fence", "grant"),
    [
        (lock(7), Grant(right="write", domain="locks", prefix="jo")),
        (Fence(b"own/1", 7), Grant(right="write", domain="kv", prefix="own/")),
    ],
)
def test_the_name_of_a_fence_needs_a_right(
    catalog: Catalog, pb: Any, fence: Fence, grant: Grant, forwarded: bool
) -> None:
    """The node that leads the shard asks again."""
    here = Open() if forwarded else Asking()

    assert Fenced(catalog, pb, here, Asking()).write(fence) == ["PERMISSION_DENIED"] * 3
    assert Fenced(catalog, pb, here, Asking(grant)).write(fence) == (
        ["", "", ""] if forwarded else ["PERMISSION_DENIED"] * 3
    )
    assert Fenced(catalog, pb, Asking(grant), Asking(grant)).write(fence) == ["", "", ""]
