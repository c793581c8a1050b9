from __future__ import annotations

import pytest
from quorate.shards.refusals import ExhaustedError
from quorate.shards.shard.capacity import Admission


def test_a_full_queue_refuses_by_bytes_and_by_count_until_room_is_given_back() -> None:
    queue = Admission("shard kv/0", max_bytes=100, max_count=3, retry_after_ms=7)
    queue.admit(100)
    with pytest.raises(ExhaustedError, match=r"shard kv/0 is full.*after 7 ms") as raised:
        queue.admit(1)
    assert raised.value.retry_after_ms == 7
    queue.release(100)
    for _ in range(3):
        queue.admit(1)
    with pytest.raises(ExhaustedError):
        queue.admit(1)
    assert (queue.bytes, queue.count) == (3, 3)


def test_an_empty_queue_takes_what_is_larger_than_it() -> None:
    queue = Admission("q", max_bytes=10, max_count=3)
    queue.admit(11)
    queue.release(11)
    assert (queue.bytes, queue.count) == (0, 0)


def test_nobody_gives_back_what_was_never_taken() -> None:
    queue = Admission("q", max_bytes=10, max_count=3)
    queue.admit(5)
    with pytest.raises(ValueError, match="released more than was reserved"):
        queue.release(6)
