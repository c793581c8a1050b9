"""What the page on observing shows is what a node says."""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from quorate.apply.entries import LoggedCommand
from quorate.cli.console.html import ROOT
from quorate.node.probes import LIVE_WITHIN_S, Probes
from quorate.observe.history import History, Totals
from quorate.observe.http import Answer
from quorate.observe.logs import TextLines
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.writes import Stage, Write, warn_slow
from quorate.v1.kv_pb2 import PutPair

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")


async def test_the_line_of_a_slow_write_is_as_shown(caplog: pytest.LogCaptureFixture) -> None:
    [shown] = re.findall(r"^```text\n(.+)\n```$", PAGE, re.MULTILINE)
    future = asyncio.get_running_loop().create_future()
    command = LoggedCommand(PutPair.DESCRIPTOR.full_name, b"", request="4f1c09ab-2d")
    write = Write(future, [command], 64, None, 0.0, 30.0)

    with caplog.at_level(logging.WARNING):
        warn_slow(ShardId("metadata", 0), [write], Stage.APPEND, 1.2045)

    [record] = caplog.records
    record.created = datetime.fromisoformat(shown.partition(" ")[0]).timestamp()
    assert TextLines("q1").format(record) == shown


def test_the_stages_and_the_bound_are_those_that_are_told() -> None:
    behind = PAGE.partition("timing.slow_write_ms")[2]

    assert re.findall(r"`([a-z]+)`", behind) == [stage.value for stage in Stage]
    assert f"within {LIVE_WITHIN_S:g} seconds" in PAGE


async def test_the_paths_are_those_that_are_answered() -> None:
    probes = Probes(asyncio.get_running_loop(), CollectorRegistry(), list)
    told = re.findall(r"^\| `(/\w+)` \|", PAGE, re.MULTILINE)

    history = History(asyncio.get_running_loop(), Totals)
    sites = {ROOT: lambda _: Answer(HTTPStatus.OK, b"")}
    port = probes.start("127.0.0.1", 0, sites=sites, history=history)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /none HTTP/1.0\r\n\r\n")
        body = (await asyncio.wait_for(reader.read(), 20)).partition(b"\r\n\r\n")[2]
        writer.close()
    finally:
        await probes.stop()

    assert body.decode() == f"there are {', '.join(told)}\n"
