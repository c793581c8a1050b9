"""A change of leader costs a client a wait and not an error, and never a second write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.plugin.advanced import NotProposedError, OutcomeUnknownError
from quorate.testing import MemoryNode
from quorate_etcd import errors
from quorate_etcd.serving import store
from quorate_etcd.serving.statuses import CODES, status_of


class UnreadableError(Exception):
    """The node's own, which plugins do not name."""

    code = "UNAVAILABLE"


class ExhaustedError(NotProposedError):
    code = "RESOURCE_EXHAUSTED"


@pytest.fixture
def failing(
    node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Sequence[Exception]], list[Any]]:
    """Fail the next calls of a method of the node; return all calls of it."""
    monkeypatch.setattr(store, "_PAUSE_S", 0)

    def fail(method: str, failures: Sequence[Exception]) -> list[Any]:
        left, calls = list(failures), []
        call: Callable[..., Awaitable[Any]] = getattr(node, method)

        async def failing(*args: Any, **more: Any) -> Any:
            calls.append(args[0])
            if left:
                raise left.pop(0)
            return await call(*args, **more)

        monkeypatch.setattr(node, method, failing)
        return calls

    return fail


async def test_what_was_not_proposed_is_proposed_again(played: Any, failing: Any) -> None:
    calls = failing("propose", [NotProposedError("no leader")] * 5)
    assert await played.put(b"a") == 2
    assert len(calls) == 6


async def test_what_may_be_carried_out_is_not_proposed_again(played: Any, failing: Any) -> None:
    calls = failing("propose", [OutcomeUnknownError("lost")])
    with pytest.raises(Rejected) as raised:
        await played.put(b"a")
    assert (raised.value.code, raised.value.message) == errors.TIMED_OUT_LEADER
    assert len(calls) == 1


async def test_reads_wait_for_a_leader(played: Any, failing: Any) -> None:
    failing("read", [UnreadableError("no leader")] * 5)
    assert (await played.range()).count == 0


async def test_neither_waits_for_ever(
    played: Any, failing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_PATIENCE_S", 0)
    for method, error in (("propose", NotProposedError("x")), ("read", UnreadableError("x"))):
        failing(method, [error])
        with pytest.raises(Rejected) as raised:
            await (played.put(b"a") if method == "propose" else played.range())
        assert (raised.value.code, raised.value.message) == errors.TIMED_OUT


async def test_a_node_without_capacity_says_so_at_once(played: Any, failing: Any) -> None:
    calls = failing("propose", [ExhaustedError("full")])
    with pytest.raises(ExhaustedError) as raised:
        await played.put(b"a")
    refusal = errors.TOO_MANY_REQUESTS
    assert status_of(raised.value) == (CODES[refusal.code], refusal.text)
    assert len(calls) == 1
