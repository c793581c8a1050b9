"""Stale reads state their age, through every method that reads."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.v1.kv_pb2 import GetPairRequest, GetPairsRequest, ListPairsRequest


@pytest.mark.parametrize("stale", [False, True])
async def test_a_stale_answer_says_how_old_it_is(old_service: Any, stale: bool) -> None:
    service = old_service
    one = GetPairRequest(key=b"a", stale=stale)
    many = GetPairsRequest(keys=[b"a"], stale=stale)
    answers: list[Any] = [
        await service.Get(one, None),
        await service.GetBatch(many, None),
        await service.Exists(one, None),
        await service.ExistsBatch(many, None),
        await service.List(ListPairsRequest(stale=stale), None),
    ]
    assert [answer.age_ms for answer in answers] == [40 if stale else 0] * 5
