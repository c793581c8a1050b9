"""Gap 3: what is known of a follower goes forward, and back only to its match."""

from __future__ import annotations

import pytest
from quorate.consensus.messages import Peer
from quorate.consensus.progress import Mode, Progress


@pytest.fixture
def progress() -> Progress:
    found = Progress(Peer("b", 1), 11, now=5.0)
    found.acknowledged(10, 6.0)
    found.replicate()
    return found


def test_at_first_nothing_is_known() -> None:
    progress = Progress(Peer("b", 1), 11, now=5.0)

    assert (progress.mode, progress.match, progress.next) == (Mode.PROBE, 0, 11)
    assert (progress.last_seen_at, progress.moved_at, progress.round) == (5.0, 5.0, 0)


def test_what_is_sent_is_under_way_until_it_is_acknowledged(progress: Progress) -> None:
    progress.sent(12, 100, 7.0)
    progress.sent(15, 50, 8.0)
    assert (progress.next, progress.inflight_bytes, progress.moved_at) == (16, 150, 7.0)

    assert progress.acknowledged(14, 9.0)
    assert (progress.match, progress.inflight_bytes, progress.moved_at) == (14, 50, 9.0)
    assert progress.acknowledged(15, 9.5)
    assert not progress.inflight


def test_an_old_acknowledgement_is_no_news(progress: Progress) -> None:
    progress.sent(12, 100, 7.0)

    assert not progress.acknowledged(9, 8.0)
    assert (progress.match, progress.next, progress.moved_at) == (10, 13, 7.0)


def test_probing_goes_back_no_further_than_the_match(progress: Progress) -> None:
    progress.sent(30, 100, 7.0)
    progress.probe(3)

    assert (progress.mode, progress.next, progress.inflight_bytes) == (Mode.PROBE, 11, 0)
    assert not progress.asked


def test_replication_begins_behind_the_match(progress: Progress) -> None:
    progress.probe(40)
    progress.asked = True
    progress.replicate()

    assert (progress.mode, progress.next, progress.asked) == (Mode.REPLICATE, 11, False)


def test_a_snapshot_came_when_as_much_is_acknowledged(progress: Progress) -> None:
    progress.await_snapshot(21)
    came = [progress.awaited_snapshot_came]
    for match in (19, 20):
        progress.acknowledged(match, 8.0)
        came.append(progress.awaited_snapshot_came)
    progress.replicate()

    assert [*came, progress.awaited_snapshot_came] == [False, False, True, False]
