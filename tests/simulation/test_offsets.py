"""What committed offsets promise holds under faults: judged by the answers alone, and the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

import pytest
from google.protobuf.message import Message
from quorate.apply.outcomes import Outcome
from quorate.plugin import Txn, keys
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import catalog_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import Tenant
from quorate_offset.v1.commands_pb2 import (
    COMMIT_MODE_MONOTONIC,
    GroupCommit,
    GroupCommitReply,
    GroupFence,
    OffsetCommit,
)
from quorate_offset.v1.rows_pb2 import Offset
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest, FenceGroupsRequest

from tests.support.sim import facts
from tests.support.sim.history import Violation
from tests.support.sim.plugins import simulate

TENANT: Final = "acme"
#: The rows that every shard has of the tenants.
TENANTS: Final = {"tenant.tenants": {keys.pack(TENANT): Tenant(name=TENANT).SerializeToString()}}
OFFSETS: Final = "offset.offsets"
COMMIT: Final = CommitOffsetsRequest.DESCRIPTOR.full_name
FENCE: Final = FenceGroupsRequest.DESCRIPTOR.full_name
#: Of each kind of load; they lie in all shards.
GROUPS: Final = 8
STEPS: Final = 120
#: Of the clients that compare and set, so many want each step.
RIVALS: Final = 3
SECONDS: Final = 5.0


class Partition(NamedTuple):
    """Whose offset it is, in the order of a row's key."""

    tenant: str
    group: str
    topic: str
    number: int


class Promises:
    """Follows the accepted commits of each shard in the order of their revisions.

    In this load every offset is meant to grow, so a row that lies before an accepted commit has
    lost it.
    """

    name = "what offsets promise"
    judges = (facts.Acknowledged, facts.Ended)

    def __init__(self) -> None:
        #: What came of commits and fences.
        self.seen: Final[Counter[str]] = Counter()
        self.shards: Final[set[str]] = set()
        self._answered: Final[dict[str, list[facts.Acknowledged]]] = {}

    def see(self, fact: facts.Fact) -> None:
        """Note answers, and judge them where a replica ends."""
        match fact:
            case facts.Acknowledged(outcome=Outcome(refusal=None), command=command):
                if command.type in (COMMIT, FENCE):
                    self._answered.setdefault(fact.shard, []).append(fact)
            case facts.Ended(rows=rows):
                shard = _Shard(self.name)
                answered = self._answered.get(fact.shard, [])
                for each in sorted(answered, key=lambda each: each.outcome.revision):
                    shard.follow(each)
                for partition, offset in shard.offsets.items():
                    row = rows[OFFSETS].get(keys.pack(*partition))
                    found = -1 if row is None else Offset.FromString(row.value).offset
                    if found < offset:
                        raise Violation(
                            self.name, f"{fact.peer} ends with {partition} at {found}, not {offset}"
                        )
                if fact.shard not in self.shards:
                    self.seen.update(shard.seen)
                    self.shards.add(fact.shard)


class _Shard:
    """What the answers of one shard come to."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self.offsets: Final[dict[Partition, int]] = {}
        self.seen: Final[Counter[str]] = Counter()
        self._generations: Final[dict[tuple[str, str], int]] = {}
        self._won: Final[set[tuple[Partition, int]]] = set()

    def follow(self, fact: facts.Acknowledged) -> None:
        reply = BatchReply.FromString(fact.outcome.reply)
        self.seen.update(refusal.code for refusal in reply.refusals)
        refused = {refusal.item for refusal in reply.refusals}
        if fact.command.type == FENCE:
            fences = FenceGroupsRequest.FromString(fact.command.payload).fences
            for item, fence in enumerate(fences):
                if item not in refused:
                    self._raise_generation(fence.tenant, fence.group, fence.generation)
                    self.seen["fenced"] += 1
            return
        for item, commit in enumerate(CommitOffsetsRequest.FromString(fact.command.payload).groups):
            if item not in refused:
                self._commit(commit, GroupCommitReply.FromString(reply.replies[item]))

    def _commit(self, group: GroupCommit, reply: GroupCommitReply) -> None:
        if group.HasField("generation"):
            self._raise_generation(group.tenant, group.group, group.generation)
        self.seen.update(refusal.code for refusal in reply.refusals)
        refused = {refusal.commit for refusal in reply.refusals}
        for position, commit in enumerate(group.commits):
            if position not in refused:
                partition = Partition(group.tenant, group.group, commit.topic, commit.partition)
                if commit.HasField("expected_offset"):
                    self._win(partition, commit)
                elif group.mode == COMMIT_MODE_MONOTONIC:
                    self._advance(partition, commit)

    def _advance(self, partition: Partition, commit: OffsetCommit) -> None:
        before = self.offsets.get(partition, 0)
        if commit.offset < before:
            raise Violation(self._name, f"{partition} went back from {before} to {commit.offset}")
        self.offsets[partition] = commit.offset
        self.seen["advanced"] += 1

    def _win(self, partition: Partition, commit: OffsetCommit) -> None:
        if (partition, commit.expected_offset) in self._won:
            raise Violation(self._name, f"two have set {partition} at {commit.expected_offset}")
        self._won.add((partition, commit.expected_offset))
        self.offsets[partition] = commit.offset
        self.seen["won"] += 1

    def _raise_generation(self, tenant: str, group: str, generation: int) -> None:
        fence = self._generations.get((tenant, group), 0)
        if generation < fence:
            raise Violation(self._name, f"generation {generation} of {group} passed fence {fence}")
        self._generations[tenant, group] = generation


def load(seed: int) -> list[Message]:
    """Return commits that contend: each is a batch over groups of several shards."""
    rng = Random(f"{seed}/offsets")
    wants = [
        (f"compared-{number}", step)
        for step in range(STEPS // 10)
        for _ in range(RIVALS)
        for number in range(GROUPS)
    ]
    log: list[Message] = []
    for step in range(STEPS):
        groups = list(advancing(rng, step))
        # A batch names a group once.
        compared = dict(wants[at % len(wants)] for at in range(step * 4, step * 4 + 4))
        groups += [comparing(group, expected) for group, expected in compared.items()]
        log.append(CommitOffsetsRequest(groups=groups))
        if step % 6 == 5:
            fences = [
                GroupFence(tenant=TENANT, group=f"fenced-{number}", generation=1 + step // 6)
                for number in rng.sample(range(GROUPS), 3)
            ]
            log.append(FenceGroupsRequest(fences=fences))
    return log


def advancing(rng: Random, step: int) -> Iterator[GroupCommit]:
    """Yield monotonic commits, some of them late, of groups with and without a generation."""
    for kind in ("advancing", "fenced"):
        for number in rng.sample(range(GROUPS), 3):
            commits = [
                OffsetCommit(
                    topic="t", partition=at, offset=max(0, step * 10 + rng.randrange(-60, 20))
                )
                for at in range(2)
            ]
            commit = GroupCommit(
                tenant=TENANT,
                group=f"{kind}-{number}",
                commits=commits,
                mode=COMMIT_MODE_MONOTONIC,
            )
            if kind == "fenced":
                commit.generation = max(1, step // 6 + rng.choice((-1, 0, 0)))
            yield commit


def comparing(group: str, expected: int) -> GroupCommit:
    """Return a commit that one of several rivals may win."""
    commit = OffsetCommit(topic="t", partition=0, offset=expected + 1, expected_offset=expected)
    return GroupCommit(tenant=TENANT, group=group, commits=[commit])


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_of(["offset", "resource", "tenant"])


def judged(catalog: Catalog, seeds: range) -> tuple[Counter[str], set[str]]:
    """Run seeds; return what was seen, and in which shards."""
    seen: Counter[str] = Counter()
    shards: set[str] = set()
    for seed in seeds:
        promises = Promises()
        counts = simulate(
            catalog, load(seed), seed=seed, seconds=SECONDS, judges=[promises], copied=TENANTS
        )
        seen += promises.seen
        seen["faults"] += counts["faults"]
        shards |= promises.shards
    print(f"\nseeds {seeds.start} to {seeds.stop - 1}: {dict(seen)} in {sorted(shards)}")
    return seen, shards


KINDS: Final = ("advanced", "BEHIND", "won", "OFFSET_MISMATCH", "fenced", "FENCED", "faults")


@pytest.mark.ci
def test_what_offsets_promise_holds_under_faults(catalog: Catalog) -> None:
    seen, shards = judged(catalog, range(1, 4))
    assert all(seen[kind] > 10 for kind in KINDS), seen
    assert len(shards) > 1


@pytest.mark.full
@pytest.mark.timeout(900)
def test_what_offsets_promise_holds_in_a_hundred_seeds(catalog: Catalog) -> None:
    seen, _ = judged(catalog, range(1000, 1100))
    assert all(seen[kind] > 200 for kind in KINDS), seen


def never_monotonic(group: GroupCommit) -> None:
    group.ClearField("mode")


def never_comparing(group: GroupCommit) -> None:
    for commit in group.commits:
        commit.ClearField("expected_offset")


def never_fenced(group: GroupCommit) -> None:
    group.ClearField("generation")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("forget", "violation"),
    [
        (never_monotonic, "went back"),
        (never_comparing, "two have set"),
        (never_fenced, "passed fence"),
    ],
)
def test_a_handler_that_forgets_a_promise_is_found(
    catalog: Catalog, forget: Callable[[GroupCommit], None], violation: str
) -> None:
    right = catalog.routes[COMMIT].apply

    def forgetting(txn: Txn, command: Message) -> Message | None:
        changed = CommitOffsetsRequest.FromString(command.SerializeToString())
        for group in changed.groups:
            forget(group)
        return right(txn, changed)

    routes = {**catalog.routes, COMMIT: replace(catalog.routes[COMMIT], apply=forgetting)}
    with pytest.raises(AssertionError, match=violation):
        judged(replace(catalog, routes=routes), range(1, 4))
