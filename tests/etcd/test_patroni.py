"""PostgreSQL's failover by Patroni, with Quorate in the place of etcd."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.etcd.programs import python_with
from tests.support.etcd import ours, patroni
from tests.support.etcd.patroni import Member

#: In seconds: `ttl` of the file, and what a busy machine needs for the rest of a failover.
_TTL_S: Final = 30
_FAILOVER_S: Final = 240


class Write(NamedTuple):
    """A row that a member has acknowledged, and when."""

    row: int
    member: str
    begun: float
    ended: float


class Writers:
    """Write rows to all members all the time, one thread each; only a leader takes them."""

    def __init__(self, members: Iterable[Member]) -> None:
        self.acknowledged: Final[list[Write]] = []
        self._rows: Final = itertools.count(1)
        self._ends: Final = threading.Event()
        self._threads: Final = [
            threading.Thread(target=self._write, args=(member,)) for member in members
        ]

    def _write(self, member: Member) -> None:
        while not self._ends.wait(0.1):
            row, begun = next(self._rows), time.monotonic()
            if member.asked(f"INSERT INTO kept VALUES ({row})") is not None:
                self.acknowledged.append(Write(row, member.name, begun, time.monotonic()))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write until the block ends."""
        for each in self._threads:
            each.start()
        try:
            yield
        finally:
            self._ends.set()
            for each in self._threads:
                each.join()

    def more(self, member: str | None = None) -> None:
        """Wait until ten more rows are acknowledged, by any member or by this one."""
        known = len(self.acknowledged)

        def written() -> bool:
            new = self.acknowledged[known:]
            return sum(member in (None, each.member) for each in new) >= 10

        eventually(written)


def reigns(writes: Sequence[Write]) -> list[str]:
    """Return the members that took writes, in their order; they did so one after the other."""
    ordered = sorted(writes, key=lambda each: each.ended)
    order = [member for member, _ in itertools.groupby(ordered, lambda each: each.member)]
    for earlier, later in itertools.pairwise(order):
        taken = min(each.ended for each in ordered if each.member == later)
        late = [each for each in ordered if each.member == earlier and each.begun > taken]
        assert not late, f"{earlier} took {late} after {later} had taken a write"
    return order


def eventually(holds: Callable[[], object]) -> None:
    """Wait for a condition that the times of `patroni.yml` are in the way of."""
    deadline = time.monotonic() + _FAILOVER_S
    while not holds():
        assert time.monotonic() < deadline, f"{holds} did not hold in {_FAILOVER_S} s"
        time.sleep(0.2)


def in_sync(members: Mapping[str, Member], timeline: int) -> bool:
    """Say whether a leader has two replicas on a timeline, one of them synchronous."""
    states = [each.state() for each in members.values()]
    return (
        sorted(each.get("role", "") for each in states) == ["primary", "replica", "replica"]
        and all(each.get("timeline") == timeline for each in states)
        and sum(bool(each.get("sync_standby")) for each in states) == 1
    )


def leader(members: Mapping[str, Member]) -> Member:
    [found] = [each for each in members.values() if each.state().get("role") == "primary"]
    return found


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ours.Ours]:
    if (reason := patroni.missing()) is not None:
        pytest.skip(reason)
    with ours.started(tmp_path / "nodes", 3) as nodes:
        yield nodes


@pytest.fixture
def members(nodes: ours.Ours, tmp_path: Path) -> Iterator[dict[str, Member]]:
    """Start three members, and wait until they replicate."""
    python = python_with(tmp_path / "python", "patroni[etcd3]==4.1.*", "psycopg[binary]")
    with ExitStack() as exit:
        members = {
            name: Member(name, tmp_path / name, python, nodes.ports.values())
            for name in ("db1", "db2", "db3")
        }
        for member in members.values():
            exit.callback(member.kill)
            member.start()
        eventually(lambda: in_sync(members, 1))
        yield members


def loses_no_lock(nodes: ours.Ours, members: Mapping[str, Member]) -> None:
    """Kill the leader of the store: Patroni renews the lock, again and again."""
    nodes.cluster.leader("etcd/0").kill()
    later = time.time() + 2 * _TTL_S
    eventually(lambda: all(each.state()["dcs_last_seen"] > later for each in members.values()))


def fails_over(first: Member, members: Mapping[str, Member]) -> Member:
    """Kill the leader of PostgreSQL; return the next one."""
    first.kill()
    others = {name: each for name, each in members.items() if each is not first}
    eventually(lambda: any(each.state().get("role") == "primary" for each in others.values()))
    return leader(others)


def rests_without_a_majority(nodes: ours.Ours, members: Mapping[str, Member]) -> None:
    """Leave one node of three, until no member takes writes, and start the others again."""
    running = [node for node in nodes.cluster.nodes.values() if node.runs]
    running[0].kill()
    recovering = "SELECT pg_is_in_recovery()"
    eventually(lambda: all(each.asked(recovering) == "t" for each in members.values()))
    for node in nodes.cluster.nodes.values():
        if not node.runs:
            node.start()


@pytest.mark.full
@pytest.mark.timeout(2_400)
def test_no_kill_loses_a_row_or_makes_two_leaders(
    nodes: ours.Ours, members: dict[str, Member]
) -> None:
    first = leader(members)
    assert first.asked("CREATE TABLE kept (row bigint PRIMARY KEY)") is not None
    writers = Writers(members.values())
    with writers.running():
        writers.more(first.name)
        loses_no_lock(nodes, members)
        writers.more(first.name)
        assert in_sync(members, 1)

        second = fails_over(first, members)
        writers.more(second.name)
        first.start()
        eventually(lambda: in_sync(members, 2))
        assert leader(members) is second
        assert reigns(writers.acknowledged) == [first.name, second.name]

        rests_without_a_majority(nodes, members)
        writers.more()

    assert reigns(writers.acknowledged)[:2] == [first.name, second.name]
    last = leader(members)
    rows = last.asked("SELECT row FROM kept")
    assert rows is not None
    assert {each.row for each in writers.acknowledged} <= set(map(int, rows.split()))


def test_two_that_take_writes_at_a_time_are_found() -> None:
    taken = [Write(1, "db1", 1, 2), Write(2, "db1", 2.5, 5), Write(3, "db2", 3, 6)]
    assert reigns(taken) == ["db1", "db2"]
    assert reigns([*taken, Write(4, "db2", 7, 8)]) == ["db1", "db2"]
    with pytest.raises(AssertionError, match="after db2 had taken"):
        reigns([*taken, Write(4, "db1", 7, 8)])
