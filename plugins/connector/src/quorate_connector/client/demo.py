"""The part of `quorate demo`: connectors, one of which fails, and the worker that runs them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from quorate.client import AsyncClient, QuorateError
from quorate.plugin.advanced import DemoScene

from quorate_connector.client import AssignedTask, Connectors, ConnectorWorker, Runner
from quorate_connector.types.shipped import FILE, FileConfig
from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    Definition,
    Label,
)

_CONNECTORS: Final = ("orders-to-files", "payments-to-files")
_BROKEN: Final = "audit-to-files"
#: The name of the worker and of its cluster.
_WORKER: Final = ("demo-worker", "demo")
#: Only this worker has it, so that no other one takes the tasks.
_LABEL: Final = Label(name="demo", value="yes")
_TASKS: Final = 2
#: How often a task stores how far it has come.
_STORED_S: Final = 5.0


async def demo(q: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
    """Define connectors in each tenant; a worker runs their tasks, which move nothing."""
    connectors = Connectors(q)
    named = [(tenant, name) for tenant in scene.tenants for name in (*_CONNECTORS, _BROKEN)]
    await connectors.put([_definition(*each) for each in named])
    # The worker would be given tasks of others as well.
    foreign = sorted(
        {each.tenant async for each in connectors.list() if each.tenant not in scene.tenants}
    )
    worker = ConnectorWorker(
        q,
        *_WORKER,
        [Runner(name=FILE.name, model=FileConfig, run=_run)],
        labels={_LABEL.name: _LABEL.value},
    )
    working = None if foreign else asyncio.create_task(worker.run())
    try:
        without = f"; no worker, since {foreign[0]} has connectors of its own" if foreign else ""
        yield f"connectors {', '.join((*_CONNECTORS, _BROKEN))} in each tenant{without}"
        while True:
            yield ""
    finally:
        if working is not None:
            working.cancel()
            with suppress(asyncio.CancelledError, QuorateError):
                await working


def _definition(tenant: str, name: str) -> CreateConnectorRequest:
    config = {"topic": name.partition("-")[0], "path": f"/demo/{tenant}/{name}"}
    return CreateConnectorRequest(
        tenant=tenant,
        name=name,
        definition=Definition(
            type=FILE.name,
            config=json.dumps(config).encode(),
            tasks_max=_TASKS,
            labels=[_LABEL],
            failures_max=1,
        ),
    )


async def _run(task: AssignedTask[FileConfig]) -> None:
    """Count, and store the count: files are not written."""
    if task.config.path.endswith(_BROKEN) or not task.config.path.startswith("/demo/"):
        raise PermissionError(f"{task.config.path} cannot be written")
    count = int(await task.cursor() or 0)
    while True:
        await task.store_cursor(b"%d" % count)
        count += 1
        await asyncio.sleep(_STORED_S)
