"""How a node follows the tree while there is none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from quorate.plugin import NodeApi
from quorate_zookeeper.serving import following
from quorate_zookeeper.serving.following import Follower


class NotYet(Exception):
    code = "UNAVAILABLE"


class Founding:
    """A node that raises these when the tree is watched, one after the other."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.watched = asyncio.Event()

    async def watch(self, _: str) -> AsyncIterator[Any]:
        if self.errors:
            raise self.errors.pop(0)
        self.watched.set()
        await asyncio.Event().wait()
        yield


async def test_what_is_not_there_yet_is_said_once_and_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(following, "_RETRY_S", 0)
    caplog.set_level(logging.INFO)
    founding = Founding(*[NotYet("no shard")] * 20, NotYet("no leader"), *[KeyError("a bug")] * 2)
    follower = Follower(cast(NodeApi, founding), lambda *_: None, lambda: None, lambda: None)
    task = asyncio.create_task(follower.run())
    try:
        async with asyncio.timeout(10):
            await founding.watched.wait()
    finally:
        task.cancel()
        await asyncio.wait([task])
    said = [
        (each.levelname, bool(each.exc_info), each.message.rpartition(": ")[2])
        for each in caplog.records
    ]
    assert said == [
        ("INFO", False, "no shard"),
        ("INFO", False, "no leader"),
        ("WARNING", True, "'a bug'"),
    ]
