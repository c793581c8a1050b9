"""Stale reads state their age, through every method that reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from quorate.builtin.kv.service import KvServicer
from quorate.plugin import Answers
from quorate.testing import MemoryNode
from quorate.v1.kv_pb2 import GetPairRequest, GetPairsRequest, ListPairsRequest


class OldNode:
    """A node whose replicas are 40 ms behind, for whom that is good enough."""

    def __init__(self, node: MemoryNode) -> None:
        self._node = node

    async def read(self, *asked: Any, consistency: str, **how: Any) -> Answers[Any]:
        found = await self._node.read(*asked, **how)
        return replace(found, age_ms=40 if consistency == "stale" else 0)


@pytest.mark.parametrize("stale", [False, True])
async def test_a_stale_answer_says_how_old_it_is(node: MemoryNode, stale: bool) -> None:
    service = KvServicer(OldNode(node))  # type: ignore[arg-type]  # reads alone are asked for
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
