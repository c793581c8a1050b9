"""Timers over a shard whose deadlines are set by hand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue
from hypothesis import HealthCheck, given, settings, strategies as st
from quorate.control.timers import Timers, waiting_calls_first
from quorate.plugin import ShardRef, Timer
from quorate.shards.refusals import OutcomeUnknownError

if TYPE_CHECKING:
    from core.tests.control.conftest import Leading, Log, Shard, Stage

NewShard = Callable[..., "Shard"]
Start = Callable[..., Timers]

EXPIRY = "toy.expiry"
LIVENESS = "toy.liveness"


def due(keys: Sequence[bytes]) -> Message:
    found = ListValue()
    found.extend([key.decode() for key in keys])
    return found


def keys_of(message: Message) -> list[bytes]:
    assert isinstance(message, ListValue)
    return [str(key).encode() for key in message]


def proposed(log: Log) -> list[tuple[float, list[bytes]]]:
    return [(round(at, 1), keys_of(message)) for at, message, _ in log.proposed]


@pytest.fixture(params=[False, True], ids=["awake", "rests"])
def shard(request: pytest.FixtureRequest, new_shard: NewShard) -> Shard:
    made = new_shard()
    made.rests = request.param
    return made


@pytest.fixture
def start(stage: Stage, shard: Shard, leading: type[Leading], log: Log) -> Start:
    timers = (
        Timer(name=EXPIRY, group="toy", due=due, batch=2),
        Timer(name=LIVENESS, group="toy", due=due, batch=2, liveness=True),
        Timer(name="other.expiry", group="other", due=due),
    )

    def expire(message: Message, _: ShardRef) -> None:
        for name in (EXPIRY, LIVENESS):
            for key in keys_of(message):
                found = shard.deadlines.get((name, key))
                if found is not None and found.at_ms <= shard.now_ms():
                    del shard.deadlines[name, key]
        shard.applied += 1

    log.apply = expire

    def begin(calls_first: Callable[[], Awaitable[None]] = waiting_calls_first) -> Timers:
        made = Timers(
            timers,
            leading(shard),
            log.propose,
            loop=stage.loop,
            calls_first=calls_first,
        )
        stage.run(made.start)
        return made

    return begin


def test_a_deadline_is_proposed_once_when_it_has_come(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(EXPIRY, b"a", 1_950)
    start()
    stage.pass_time(1.9)
    assert log.proposed == []

    stage.pass_time(5.0)

    assert proposed(log) == [(2.0, [b"a"])]
    assert log.proposed[0][2] == ShardRef("toy", 0, 1)


def test_the_next_deadline_of_a_timer_is_known_and_how_late_it_is(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(EXPIRY, b"a", 4_000)
    timers = start()
    stage.pass_time(1.0)
    assert timers.next_s() == pytest.approx({EXPIRY: 3.0}, abs=0.1)

    log.apply = lambda *_: (_ for _ in ()).throw(OutcomeUnknownError("lost"))
    stage.pass_time(5.0)
    assert -2.0 <= timers.next_s()[EXPIRY] < 0.0


def test_a_deadline_that_is_set_earlier_later_on_is_seen(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(EXPIRY, b"a", 60_000)
    start()
    stage.pass_time(1.05)
    shard.set(EXPIRY, b"a", 1_000)
    stage.pass_time(0.2)

    assert proposed(log) == [(1.1, [b"a"])]


def test_batches_follow_each_other_one_at_a_time_and_the_earliest_first(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    for number in range(5):
        shard.set(EXPIRY, b"%d" % number, 500 - number)
    log.takes_s = 1.0
    start()
    stage.pass_time(10.0)

    assert proposed(log) == [(0.5, [b"4", b"3"]), (1.5, [b"2", b"1"]), (2.5, [b"0"])]


def test_a_new_leader_waits_one_ttl_before_it_judges_heartbeats(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(LIVENESS, b"a", 0, ttl_ms=10_000)
    shard.set(EXPIRY, b"b", 0)
    start()
    stage.pass_time(20.0)
    assert proposed(log) == [(0.0, [b"b"]), (10.0, [b"a"])]

    shard.set(LIVENESS, b"c", 20_000, ttl_ms=10_000)
    shard.term = 2
    stage.pass_time(20.0)

    assert proposed(log)[2:] == [(30.0, [b"c"])]


def test_keys_that_wait_for_their_grace_do_not_hold_up_others(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    for number in range(6):
        shard.set(LIVENESS, b"%d" % number, number, ttl_ms=60_000)
    shard.set(LIVENESS, b"short", 100, ttl_ms=1_000)
    start()
    stage.pass_time(3.0)

    assert proposed(log) == [(1.0, [b"short"])]


@pytest.mark.parametrize("ttls_paused", [0.4, 3.0])
def test_a_leader_that_was_paused_expires_nobody_who_renews_after_it(
    stage: Stage, shard: Shard, log: Log, start: Start, ttls_paused: float
) -> None:
    shard.set(LIVENESS, b"a", 21_000, ttl_ms=10_000)
    shard.set(LIVENESS, b"silent", 21_000, ttl_ms=10_000)
    start()
    stage.pass_time(19.0)
    stage.loop.pause()
    stage.pass_time(10.0 * ttls_paused)
    resumed = stage.world.now
    stage.run(lambda: None)
    stage.loop.resume()
    # The broker needs a while to find the node again.
    stage.pass_time(8.0)
    shard.set(LIVENESS, b"a", shard.now_ms() + 10_000, ttl_ms=10_000)
    stage.pass_time(5.0)

    assert [keys for _, keys in proposed(log)] == [[b"silent"]]
    assert log.proposed[0][0] >= resumed + 10.0


def test_a_leap_of_logical_time_is_a_stall(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    start()
    stage.pass_time(20.0)
    shard.set(LIVENESS, b"a", 30_000, ttl_ms=10_000)
    shard.leapt_ms = 50_000
    stage.pass_time(9.0)
    assert log.proposed == []

    stage.pass_time(2.0)

    assert [keys for _, keys in proposed(log)] == [[b"a"]]


def test_a_short_delay_of_the_loop_delays_nothing(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(LIVENESS, b"a", 20_000, ttl_ms=10_000)
    start()
    stage.pass_time(18.0)
    stage.loop.pause()
    stage.pass_time(2.0)
    stage.loop.resume()
    stage.pass_time(0.5)

    assert [keys for _, keys in proposed(log)] == [[b"a"]]


def test_calls_that_wait_come_before_the_judgement(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    async def renewal() -> None:
        await asyncio.sleep(0.02)
        shard.set(EXPIRY, b"a", 60_000)

    shard.set(EXPIRY, b"a", 1_000)
    shard.set(EXPIRY, b"b", 1_000)
    start(calls_first=renewal)
    stage.pass_time(5.0)

    assert [keys for _, keys in proposed(log)] == [[b"b"]]


def test_what_is_ready_on_the_loop_comes_before_the_judgement(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(EXPIRY, b"a", 1_000)
    start()
    stage.pass_time(0.95)
    stage.loop.pause()
    stage.pass_time(1.0)
    # The timer of the loop was due before the call came.
    stage.loop.post(0.0, shard.set, EXPIRY, b"a", 60_000)
    stage.pass_time(0.1)
    stage.loop.resume()
    stage.pass_time(1.0)

    assert log.proposed == []


def test_nothing_is_proposed_where_another_node_leads(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set(EXPIRY, b"a", 1_000)
    start()
    shard.leads = False
    stage.pass_time(3.0)

    assert log.proposed == []


def test_timers_of_other_groups_are_no_matter_of_a_shard(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    shard.set("other.expiry", b"a", 0)
    start()
    stage.pass_time(1.0)

    assert log.proposed == []


def test_a_batch_under_way_ends_with_the_term(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    answered: list[int] = []
    shard.set(EXPIRY, b"a", 1_000)
    log.takes_s = 5.0
    start()
    log.apply = lambda _, ref: answered.append(ref.term)
    stage.pass_time(2.0)
    shard.term = 2
    stage.pass_time(8.0)

    assert [ref.term for _, _, ref in log.proposed] == [1, 2]
    assert answered == [2]


def test_what_fails_is_tried_again_later_and_later(
    stage: Stage, shard: Shard, log: Log, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    shard.set(EXPIRY, b"a", 0)
    log.failures = [OutcomeUnknownError("lost"), ZeroDivisionError("broken")]
    start()
    with caplog.at_level(logging.INFO, "quorate.control"):
        stage.pass_time(5.0)

    assert [at for at, _ in proposed(log)] == pytest.approx([0.0, 0.5, 1.6], abs=0.11)
    told = [(record.levelname, bool(record.exc_info)) for record in caplog.records]
    assert told == [("INFO", False), ("WARNING", True)]
    assert "timer toy.expiry of shard toy/0 failed 2 times" in caplog.records[1].getMessage()


def test_a_key_that_its_handler_leaves_as_it_was_holds_up_nobody(
    stage: Stage, shard: Shard, log: Log, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    good = log.apply

    def apply(message: Message, ref: ShardRef) -> None:
        found = [key for key in keys_of(message) if not key.startswith(b"bad")]
        good(due(found), ref)

    log.apply = apply
    for key in (b"bad-1", b"bad-2", b"bad-3"):
        shard.set(EXPIRY, key, 0)
    shard.set(EXPIRY, b"good", 0)
    start()
    with caplog.at_level(logging.WARNING):
        stage.pass_time(29.0)

    assert (EXPIRY, b"good") not in shard.deadlines
    assert [keys for _, keys in proposed(log)] == [[b"bad-1", b"bad-2"], [b"bad-3", b"good"]]
    assert "did not change the deadline of b'bad-1' in shard toy/0" in caplog.text
    stage.pass_time(2.0)
    assert [keys for _, keys in proposed(log)][2:] == [[b"bad-1", b"bad-2"], [b"bad-3"]]


def test_a_shard_that_cannot_be_read_does_not_stop_the_others(
    stage: Stage,
    new_shard: NewShard,
    leading: type[Leading],
    log: Log,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, sound = new_shard("toy/0"), new_shard("toy/1")

    def refuse(*_: Any) -> list[tuple[bytes, int]]:
        raise OSError("gone")

    broken.due = refuse  # type: ignore[method-assign, assignment]
    sound.set(EXPIRY, b"a", 1_000)
    timers = [Timer(name=EXPIRY, group="toy", due=due)]
    made = Timers(timers, leading(broken, sound), log.propose, loop=stage.loop)
    stage.run(made.start)
    stage.pass_time(1.2)

    assert [ref.shard for _, _, ref in log.proposed][:1] == [1]
    assert "cannot read the deadlines of shard toy/0" in caplog.text


def test_nothing_is_proposed_after_the_stop(
    stage: Stage, shard: Shard, log: Log, start: Start
) -> None:
    timers = start()
    stage.finish(timers.stop())
    shard.set(EXPIRY, b"a", 0)
    stage.pass_time(3.0)

    assert log.proposed == []


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pauses=st.lists(st.tuples(st.floats(0.1, 15.0), st.floats(0.0, 40.0)), min_size=1, max_size=6),
    ttl_s=st.floats(1.0, 20.0),
)
def test_whoever_renews_while_the_leader_runs_is_never_expired(
    pauses: list[tuple[float, float]], ttl_s: float, request: pytest.FixtureRequest
) -> None:
    stage_type = type(request.getfixturevalue("stage"))
    shard_type = type(request.getfixturevalue("new_shard")())
    stage = stage_type()
    shard = shard_type(stage)
    found: list[Message] = []

    async def propose(message: Message, _: ShardRef) -> None:
        found.append(message)

    def renew() -> None:
        shard.set(
            LIVENESS, b"a", shard.now_ms() + round(ttl_s * 1_000), ttl_ms=round(ttl_s * 1_000)
        )
        stage.loop.call_later(ttl_s * 0.7, renew)

    timer = Timer(name=LIVENESS, group="toy", due=due, liveness=True)
    stage.run(renew)
    stage.run(Timers([timer], lambda: [shard], propose, loop=stage.loop).start)
    for runs_s, stands_s in pauses:
        stage.pass_time(runs_s)
        stage.loop.pause()
        stage.pass_time(stands_s)
        stage.loop.resume()
    stage.pass_time(2 * ttl_s)
    stage.loop.dispose()

    assert found == []
