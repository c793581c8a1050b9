"""Groups that nobody uses expire, by a setting that changes at run time."""

import json
from asyncio import run
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Consistency, Rejected
from quorate.testing import MemoryNode, MemoryTxn
from quorate.v1.batch_pb2 import BatchReply, ShardRevision
from quorate.v1.resource_pb2 import DeleteResource, PutResource, StoredResource
from quorate_offset import expiry as expiring
from quorate_offset.expiry import EXPIRY, PATH, WEEK_S, expire_groups, expire_idle_groups
from quorate_offset.families import CHANGES, MARKS, OFFSETS, group_key
from quorate_offset.marks import read_floor, read_mark
from quorate_offset.offsets.apply import commit_offsets
from quorate_offset.v1.commands_pb2 import ExpireGroups, GroupCommit, GroupExpiry, OffsetCommit
from quorate_offset.v1.queries_pb2 import ListChangesQuery, ShardChanges
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

WEEK_MS = WEEK_S * 1_000
GROUPS = [f"group-{number}" for number in range(12)]
METRIC = "quorate_offset_expired_groups_total"


def commands(*groups: str) -> CommitOffsetsRequest:
    commits = [OffsetCommit(topic="t", partition=0, offset=5), OffsetCommit(topic="u")]
    return CommitOffsetsRequest(
        groups=[GroupCommit(tenant="acme", group=group, commits=commits) for group in groups]
    )


def commit(node: MemoryNode, *groups: str) -> None:
    assert not run(node.propose(commands(*groups), BatchReply)).refusals


def expire(node: MemoryNode) -> None:
    run(node.run_controller(EXPIRY.name))


def setting(node: MemoryNode, **settings: object) -> None:
    value = json.dumps(settings).encode()
    run(node.propose(PutResource(path=PATH, value=value), StoredResource))


def expiries(node: MemoryNode) -> list[ExpireGroups]:
    return [each for each in node.proposals if isinstance(each, ExpireGroups)]


def left(node: MemoryNode) -> int:
    return len(node.rows(OFFSETS)) // 2


def test_a_group_expires_a_week_after_its_newest_commit(node: MemoryNode) -> None:
    commit(node, *GROUPS)
    run(node.advance(WEEK_MS - 1))
    commit(node, GROUPS[0])
    expire(node)
    assert not expiries(node)

    run(node.advance(1))
    expire(node)

    assert left(node) == 1
    assert node.metrics == {METRIC: 11}
    run(node.advance(WEEK_MS - 1))
    expire(node)
    assert left(node) == 0


@pytest.mark.parametrize("together", [1, 3, 100])
def test_many_groups_expire_in_several_commands(
    node: MemoryNode, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "TOGETHER", together)
    commit(node, *GROUPS)
    run(node.advance(WEEK_MS))

    expire(node)

    assert left(node) == 0
    assert all(len(command.groups) <= together for command in expiries(node))


def test_one_run_has_its_bound(node: MemoryNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiring, "TOGETHER", 1)
    monkeypatch.setattr(expiring, "MOST_COMMANDS", 1)
    commit(node, *GROUPS)
    run(node.advance(WEEK_MS))

    expire(node)
    assert len(expiries(node)) == 4
    expire(node)
    assert len(expiries(node)) == 8


def test_the_setting_counts_from_its_change_on_and_wakes_the_controller(node: MemoryNode) -> None:
    commit(node, *GROUPS)
    run(node.advance(5_000))
    expire(node)
    assert left(node) == len(GROUPS)
    assert EXPIRY.name not in node.woken

    setting(node, group_expire_s=5)
    assert EXPIRY.name in node.woken
    run(node.run_woken())
    assert left(node) == 0

    commit(node, *GROUPS)
    run(node.propose(DeleteResource(path=PATH), Empty))
    run(node.advance(5_000))
    expire(node)
    assert left(node) == len(GROUPS)


def test_zero_keeps_groups_for_ever(node: MemoryNode) -> None:
    setting(node, group_expire_s=0)
    commit(node, *GROUPS)
    run(node.advance(100 * WEEK_MS))

    expire(node)

    assert left(node) == len(GROUPS)


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b'{"group_expire_s": -1}', b'{"ttl": 1}'])
def test_with_a_setting_that_is_none_nothing_expires(node: MemoryNode, value: bytes) -> None:
    commit(node, *GROUPS)
    run(node.propose(PutResource(path=PATH, value=value), StoredResource))
    run(node.advance(100 * WEEK_MS))

    with pytest.raises(Rejected, match="settings/offset is not a JSON object of known settings"):
        expire(node)

    assert left(node) == len(GROUPS)


def test_a_look_asks_its_own_shard_alone(node: MemoryNode) -> None:
    commit(node, *GROUPS)
    run(node.advance(WEEK_MS))
    node.unreadable.update({("offset", 1), ("offset", 2), ("offset", 3)})

    run(expire_idle_groups(node, node.leader("offset", 0)))

    assert 0 < left(node) < len(GROUPS)


def test_a_look_that_finds_none_asks_no_leader(
    node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    read = node.read

    def watched(*message: Any, consistency: Consistency = "linearizable") -> Any:
        asked.append(consistency)
        return read(*message, consistency=consistency)

    monkeypatch.setattr(node, "read", watched)
    commit(node, *GROUPS)
    expire(node)
    assert asked == ["stale"] * 4

    # What is deleted goes by the newest setting, whatever this node has.
    run(node.advance(WEEK_MS))
    expire(node)
    assert asked[4:] == ["stale", "linearizable"] * 4
    assert left(node) == 0


def test_a_leader_of_an_earlier_term_expires_nothing(node: MemoryNode) -> None:
    commit(node, *GROUPS)
    run(node.advance(WEEK_MS))
    deposed = [node.leader("offset", shard) for shard in range(4)]
    for shard in range(4):
        node.elect("offset", shard)

    for ref in deposed:
        with pytest.raises(Rejected, match="ABORTED"):
            run(expire_idle_groups(node, ref))

    assert left(node) == len(GROUPS)


def test_what_has_expired_is_known_as_deleted_and_forgotten_later(node: MemoryNode) -> None:
    commit(node, *GROUPS)
    before = answers(node, [])
    run(node.advance(WEEK_MS))
    expire(node)

    after = answers(node, token(before))
    gone = {change.group for answer in after for change in answer.changes if change.deleted}
    assert gone == set(GROUPS)
    assert not any(answer.resync for answer in after)

    run(node.advance(WEEK_MS))
    expire(node)
    expire(node)
    assert not node.rows(MARKS)
    assert not node.rows(CHANGES)
    known = answers(node, token(after))
    assert not any(answer.resync or answer.changes for answer in known)
    late = answers(node, token(before))
    assert all(answer.resync for answer in late)
    assert not any(answer.resync for answer in answers(node, token(late)))


def answers(node: MemoryNode, since: list[ShardRevision]) -> list[ShardChanges]:
    async def read() -> list[ShardChanges]:
        query = ListChangesQuery(since=since)
        return [answer async for answer in node.query(query, ShardChanges)]

    return run(read())


def token(found: list[ShardChanges]) -> list[ShardRevision]:
    return [ShardRevision(shard=each.shard, revision=each.revision) for each in found]


def expiry(group: str, revision: int) -> ExpireGroups:
    return ExpireGroups(groups=[GroupExpiry(tenant="acme", group=group, revision=revision)])


def test_a_commit_that_came_in_between_keeps_the_group(shard: MemoryTxn) -> None:
    commit_offsets(shard, commands("billing"))
    later = shard.then(2_000)
    commit_offsets(later, commands("billing"))
    last = later.then(3_000)

    reply = expire_groups(last, expiry("billing", shard.revision))

    assert (reply.items, list(reply.replies)) == (1, [b""])
    assert len(last.rows(OFFSETS)) == 2


def test_a_deleted_group_is_not_forgotten_before_an_older_one(shard: MemoryTxn) -> None:
    commit_offsets(shard, commands("old"))
    txn = shard.then(2_000)
    commit_offsets(txn, commands("young"))
    deletion = txn.then(3_000)
    expire_groups(deletion, expiry("young", txn.revision))
    last = deletion.then(4_000)

    expire_groups(last, expiry("young", deletion.revision))

    assert read_mark(last, group_key("acme", "young")).deleted
    assert read_floor(last) == 0


def test_the_generation_of_an_expired_group_fences_until_it_is_forgotten(shard: MemoryTxn) -> None:
    command = commands("billing")
    command.groups[0].generation = 4
    commit_offsets(shard, command)
    txn = shard.then(2_000)
    expire_groups(txn, expiry("billing", shard.revision))
    command.groups[0].generation = 3
    assert [each.code for each in commit_offsets(txn, command).refusals] == ["FENCED"]

    last = txn.then(3_000)
    expire_groups(last, expiry("billing", txn.revision))

    assert not commit_offsets(last, command).refusals
    assert read_floor(last) == txn.revision
