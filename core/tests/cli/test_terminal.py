"""What a command does between its call and its client."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from quorate.cli.terminal import Terminal

if TYPE_CHECKING:
    from quorate.client import AsyncClient

    from core.tests.cli.conftest import FakeNode


async def fail() -> None:
    raise LookupError("one of many failed")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell runs in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_known_also_behind_tasks_that_have_failed(
    node: FakeNode, interruptible: None
) -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(fail())
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        Terminal().ask(work)
