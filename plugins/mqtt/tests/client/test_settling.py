"""A registration that is new is waited for; nothing else is."""

from __future__ import annotations

import pytest
from quorate.client import RejectedError
from quorate_mqtt.client import settling
from quorate_mqtt.client.settling import settled


class Shard:
    """Answers with refusals first, and then with a number."""

    def __init__(self, *refusals: str) -> None:
        self._refusals = list(refusals)
        self.asked = 0

    async def ask(self) -> int:
        self.asked += 1
        if self._refusals:
            raise RejectedError(self._refusals.pop(0))
        return 7


async def test_it_is_asked_again_while_the_broker_is_not_known() -> None:
    shard = Shard("BROKER_UNKNOWN", "BROKER_UNKNOWN")

    assert await settled(shard.ask) == 7
    assert shard.asked == 3


async def test_any_other_refusal_is_told_at_once() -> None:
    shard = Shard("FENCED")

    with pytest.raises(RejectedError, match="FENCED"):
        await settled(shard.ask)

    assert shard.asked == 1


async def test_a_broker_that_stays_unknown_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_PATIENCE_S", 0.0)
    shard = Shard("BROKER_UNKNOWN", "BROKER_UNKNOWN")

    with pytest.raises(RejectedError, match="BROKER_UNKNOWN"):
        await settled(shard.ask)

    assert shard.asked == 1
