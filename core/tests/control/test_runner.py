"""Controllers over shards whose leadership is set by hand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.control import runner as runner_module
from quorate.control.runner import Runner
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import LeaderlessError

if TYPE_CHECKING:
    from core.tests.control.conftest import Leading, Shard, Stage

NewShard = Callable[..., "Shard"]
RunOnce = Callable[[NodeApi, ShardRef], Coroutine[Any, Any, None]]

NAME = "toy.sweeping"


class Node:
    """As much of a node as a controller asks here."""

    def __init__(self) -> None:
        self.fences: list[ShardRef | None] = []
        self.gauges: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}

    def observe(self, metric: str, value: float, **labels: str) -> None:
        self.gauges[metric, frozenset(labels.items())] = value

    def withdraw(self, metric: str, labels: Mapping[str, str]) -> None:
        del self.gauges[metric, frozenset(labels.items())]

    async def propose(self, command: object, reply: object, **options: Any) -> object:
        self.fences.append(options["if_leader"])
        return reply


class Changes:
    """The changes of families, told by hand."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Event] = {}
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.fails: Exception | None = None

    async def __call__(self, family: str) -> AsyncIterator[None]:
        self.opened.append(family)
        event = self.waiting.setdefault(family, asyncio.Event())
        try:
            while True:
                await event.wait()
                event.clear()
                if self.fails is not None:
                    raise self.fails
                yield
        finally:
            self.closed.append(family)


class Runs:
    """A controller that notes its runs, and what is open of them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.begun: list[tuple[float, ShardRef]] = []
        self.open: list[ShardRef] = []
        self.most_open = 0
        self.cancelled = 0
        self.takes_s = 0.0
        self.cleans_s = 0.0
        self.failures: list[BaseException] = []

    async def run_once(self, node: NodeApi, ref: ShardRef) -> None:
        self.begun.append((round(self.stage.world.now, 1), ref))
        self.open.append(ref)
        self.most_open = max(self.most_open, len(self.open))
        try:
            if self.failures:
                raise self.failures.pop(0)
            await asyncio.sleep(self.takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(self.cleans_s)
            raise
        finally:
            self.open.remove(ref)

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.begun]


@pytest.fixture
def runs(stage: Stage) -> Runs:
    return Runs(stage)


@pytest.fixture
def changes() -> Changes:
    return Changes()


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def shard(new_shard: NewShard) -> Shard:
    return new_shard()


Start = Callable[..., Runner]


@pytest.fixture
def start(
    stage: Stage,
    shard: Shard,
    new_shard: NewShard,
    leading: type[Leading],
    changes: Changes,
    node: Node,
    runs: Runs,
) -> Start:
    second, other = new_shard("toy/1"), new_shard("other/0")

    def begin(
        run_once: RunOnce | None = None,
        interval_s: float | Callable[[NodeApi], float] = 1.0,
        scope: Literal["first_shard", "each_shard"] = "first_shard",
        wake_on: tuple[str, ...] = (),
    ) -> Runner:
        controller = Controller(
            name=NAME,
            group="toy",
            run_once=run_once or runs.run_once,
            interval_s=interval_s,
            scope=scope,
            wake_on=wake_on,
        )
        made = Runner(
            [controller],
            leading(shard, second, other),
            lambda _: cast("NodeApi", node),
            changes,
            loop=stage.loop,
            withdraw=node.withdraw,
        )
        stage.run(made.start)
        return made

    return begin


def test_it_runs_on_the_first_shard_of_its_group_at_its_interval(
    stage: Stage, start: Start, runs: Runs
) -> None:
    runs.takes_s = 0.5
    start(interval_s=2.0)
    stage.pass_time(6.0)

    assert runs.times == [0.0, 2.5, 5.0]
    assert {ref for _, ref in runs.begun} == {ShardRef("toy", 0, 1)}


def test_it_runs_on_each_shard_where_it_says_so(stage: Stage, start: Start, runs: Runs) -> None:
    start(scope="each_shard")
    stage.pass_time(0.5)

    assert [ref for _, ref in runs.begun] == [ShardRef("toy", 0, 1), ShardRef("toy", 1, 1)]


def test_runs_that_began_together_come_apart(stage: Stage, start: Start, runs: Runs) -> None:
    start(scope="each_shard", interval_s=64.0)
    stage.pass_time(130.0)

    by_shard = [[at for at, ref in runs.begun if ref.shard == number] for number in (0, 1)]
    assert by_shard == [[0.0, 64.0, 128.0], [0.0, 63.5, 127.5]]


def test_its_interval_may_come_from_the_node(stage: Stage, start: Start, runs: Runs) -> None:
    intervals = iter([1.0, 3.0, 60.0])
    start(interval_s=lambda _: next(intervals))
    stage.pass_time(10.0)

    assert runs.times == [0.0, 1.0, 4.0]


def test_it_does_not_run_where_another_node_leads(
    stage: Stage, shard: Shard, start: Start, runs: Runs
) -> None:
    shard.leads = False
    start()
    stage.pass_time(5.0)

    assert runs.begun == []


@pytest.mark.parametrize("gone", ["leadership", "term"])
def test_a_run_is_cancelled_as_soon_as_its_term_has_gone(
    stage: Stage, shard: Shard, start: Start, runs: Runs, gone: str
) -> None:
    runs.takes_s = 60.0
    start()
    stage.pass_time(1.0)
    if gone == "leadership":
        shard.leads = False
    else:
        shard.term = 2
    stage.pass_time(0.11)

    assert runs.cancelled == 1
    assert [ref.term for ref in runs.open] == ([] if gone == "leadership" else [2])


def test_the_next_term_begins_only_when_the_run_of_the_last_one_has_ended(
    stage: Stage, shard: Shard, start: Start, runs: Runs
) -> None:
    runs.takes_s = 60.0
    runs.cleans_s = 5.0
    runner = start()
    stage.pass_time(1.0)
    shard.term = 2
    stage.pass_time(3.0)
    assert [each.state for each in runner.status()] == ["stopping"]

    stage.pass_time(3.0)

    assert (runs.most_open, [ref.term for _, ref in runs.begun]) == (1, [1, 2])


def test_a_run_that_swallows_its_cancellation_is_not_followed_by_another(
    stage: Stage, shard: Shard, start: Start
) -> None:
    terms: list[int] = []

    async def stubborn(_: NodeApi, ref: ShardRef) -> None:
        terms.append(ref.term)
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            return

    start(stubborn, interval_s=0.1)
    stage.pass_time(1.0)
    shard.leads = False
    stage.pass_time(5.0)

    assert terms == [1]


def test_all_that_it_proposes_carries_the_term_of_the_run(
    stage: Stage, start: Start, node: Node
) -> None:
    explicit = ShardRef("other", 0, 7)

    async def propose(api: NodeApi, ref: ShardRef) -> None:
        await api.propose(StringValue(), StringValue)
        await api.propose(StringValue(), StringValue, if_leader=explicit)

    start(propose)
    stage.pass_time(0.5)

    assert node.fences == [ShardRef("toy", 0, 1), explicit]


def test_failures_wait_longer_each_time_and_are_told(
    stage: Stage, start: Start, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    runs.failures = [ZeroDivisionError("broken"), asyncio.CancelledError(), OSError("full")]
    runner = start(interval_s=10.0, wake_on=("toy.rows",))
    with caplog.at_level(logging.WARNING):
        stage.pass_time(2.0)
    [status] = runner.status()
    assert (status.state, status.failures, status.error) == ("failing", 2, "CancelledError: ")
    assert "controller toy.sweeping of shard toy/0 failed 2 times" in caplog.text

    stage.pass_time(6.0)

    assert runs.times == [0.0, 1.0, 3.0, 7.0]
    [status] = runner.status()
    assert (status.state, status.failures, status.error) == ("waiting", 0, None)
    counters = runner.counters[NAME]
    assert (counters.runs, counters.failures) == (1, 3)


def test_how_far_a_run_has_come_is_told(stage: Stage, start: Start) -> None:
    async def sweep(api: Any, _: ShardRef) -> None:
        api.progress("tenant acme: 3 rows erased")

    runner = start(sweep)
    stage.pass_time(0.5)

    assert [each.progress for each in runner.status()] == ["tenant acme: 3 rows erased"]


def test_each_error_of_a_group_is_named(
    stage: Stage, start: Start, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    inner = ExceptionGroup("more", [OSError("full"), OSError("full")])
    causes = [ZeroDivisionError("broken"), inner, *map(KeyError, "ab")]
    runs.failures = [ExceptionGroup("finalizers failed", causes)]
    runner = start()
    stage.pass_time(0.5)

    sentence = (
        "finalizers failed: ZeroDivisionError: broken; more: OSError: full; KeyError: 'a'; "
        "and 1 more"
    )
    [status] = runner.status()
    assert status.error == sentence
    assert f"retrying in 1 s: {sentence}" in caplog.text


def test_what_a_change_of_leaders_brings_is_no_warning_before_it_lasts(
    stage: Stage, start: Start, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    runs.failures = [LeaderlessError(ShardId("other", 0)) for _ in range(4)]
    start()
    with caplog.at_level(logging.INFO, "quorate.control"):
        stage.pass_time(8.0)

    told = [(record.levelname, bool(record.exc_info)) for record in caplog.records]
    assert told == [("INFO", False)] * 3 + [("WARNING", True)]
    assert "failed 4 times in a row" in caplog.text


def test_a_change_of_a_family_wakes_it(
    stage: Stage, start: Start, runs: Runs, changes: Changes
) -> None:
    start(interval_s=60.0, scope="each_shard", wake_on=("other.rows",))
    stage.pass_time(5.0)
    stage.run(changes.waiting["other.rows"].set)
    stage.pass_time(5.0)

    assert runs.times == [0.0, 0.0, 5.0, 5.0]
    assert changes.opened == ["other.rows"]


def test_those_of_many_shards_are_woken_a_few_at_a_time(
    stage: Stage, start: Start, runs: Runs, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "_TOGETHER", 1)
    monkeypatch.setattr(runner_module, "_BETWEEN_S", 2.0)
    start(interval_s=60.0, scope="each_shard", wake_on=("other.rows",))
    stage.pass_time(5.0)
    stage.run(changes.waiting["other.rows"].set)
    stage.pass_time(5.0)

    assert runs.times == [0.0, 0.0, 5.0, 7.0]


def test_a_change_during_a_run_leads_to_another_run(
    stage: Stage, start: Start, runs: Runs, changes: Changes
) -> None:
    runs.takes_s = 2.0
    start(interval_s=60.0, wake_on=("toy.rows",))
    stage.pass_time(1.0)
    stage.run(changes.waiting["toy.rows"].set)
    stage.pass_time(5.0)

    assert (runs.times, runs.most_open) == ([0.0, 2.1], 1)


def test_a_watch_that_breaks_is_opened_anew_and_wakes(
    stage: Stage, start: Start, runs: Runs, changes: Changes
) -> None:
    start(interval_s=60.0, wake_on=("toy.rows",))
    stage.pass_time(1.0)
    changes.fails = OSError("the way is broken")
    stage.run(changes.waiting["toy.rows"].set)
    stage.pass_time(2.0)

    assert len(changes.opened) == 2
    assert runs.times == [0.0, 2.0]


def test_a_watch_that_breaks_is_a_warning_when_it_breaks_again_and_again(
    stage: Stage, start: Start, changes: Changes, caplog: pytest.LogCaptureFixture
) -> None:
    start(interval_s=60.0, wake_on=("toy.rows",))
    stage.pass_time(1.0)

    def breaks(times: int) -> list[str]:
        caplog.clear()
        changes.fails = LeaderlessError(ShardId("toy", 0))
        with caplog.at_level(logging.INFO, "quorate.control"):
            for _ in range(times):
                stage.run(changes.waiting["toy.rows"].set)
                stage.pass_time(2.0)
        return [record.levelname for record in caplog.records]

    assert breaks(4) == ["INFO", "INFO", "INFO", "WARNING"]
    changes.fails = None
    stage.run(changes.waiting["toy.rows"].set)
    stage.pass_time(2.0)
    assert breaks(1) == ["INFO"]


def test_families_are_watched_only_while_a_controller_is_at_work(
    stage: Stage, shard: Shard, start: Start, changes: Changes
) -> None:
    start(wake_on=("toy.rows",))
    stage.pass_time(1.0)
    assert changes.closed == []
    shard.leads = False
    stage.pass_time(1.0)

    assert changes.closed == ["toy.rows"]


def test_a_paused_controller_begins_no_run_until_it_is_resumed(
    stage: Stage, start: Start, runs: Runs
) -> None:
    runner = start()
    stage.pass_time(0.5)
    stage.run(lambda: runner.pause(NAME))
    stage.pass_time(5.0)
    assert (runs.times, runner.paused) == ([0.0], [NAME])
    assert [each.state for each in runner.status()] == ["paused"]

    stage.run(lambda: runner.resume(NAME))
    stage.pass_time(0.5)

    assert (runs.times, runner.paused) == ([0.0, 5.5], [])


def test_only_a_declared_controller_can_be_paused(start: Start) -> None:
    with pytest.raises(LookupError, match=r"declared are toy\.sweeping"):
        start().pause("toy.nothing")


def test_the_status_tells_what_is_under_way(stage: Stage, start: Start, runs: Runs) -> None:
    runs.takes_s = 1.0
    runner = start(interval_s=1.0)
    stage.pass_time(2.5)

    [status] = runner.status()
    assert (status.name, str(status.shard), status.term) == (NAME, "toy/0", 1)
    assert (status.state, status.runs) == ("running", 1)


def test_a_look_that_fails_is_not_the_last_one(
    stage: Stage, shard: Shard, start: Start, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    name, shard.id = shard.id, None  # type: ignore[assignment]
    start()
    stage.pass_time(1.0)
    assert "cannot start or stop controllers; trying again" in caplog.text
    shard.id = name
    stage.pass_time(0.1)

    assert len(runs.begun) == 1


def test_everything_ends_with_the_stop(
    stage: Stage, start: Start, runs: Runs, changes: Changes
) -> None:
    runs.takes_s = 60.0
    runner = start(wake_on=("toy.rows",))
    stage.pass_time(1.0)
    stage.finish(runner.stop())
    stage.pass_time(60.0)

    assert (runs.cancelled, runs.open, len(runs.begun)) == (1, [], 1)
    assert changes.closed == ["toy.rows"]


def test_its_gauges_are_told_by_the_leader_alone(
    stage: Stage, shard: Shard, node: Node, start: Start
) -> None:
    async def run_once(api: NodeApi, ref: ShardRef) -> None:
        api.observe("a_rows", ref.term)
        api.observe("b_rows", ref.term, state="up", group="a")

    start(run_once)
    stage.pass_time(0.5)
    labels = frozenset({"state": "up", "group": "a"}.items())
    assert node.gauges == {("a_rows", frozenset()): 1, ("b_rows", labels): 1}
    shard.leads = False
    stage.pass_time(0.5)
    assert node.gauges == {}
    shard.leads, shard.term = True, 2
    stage.pass_time(0.5)
    assert node.gauges == {("a_rows", frozenset()): 2, ("b_rows", labels): 2}
