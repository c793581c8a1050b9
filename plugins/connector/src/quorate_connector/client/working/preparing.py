"""Prepares a task: its definition, its configuration, and the code that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from quorate.client import AsyncClient, UnavailableError

from quorate_connector.client.connectors import Connectors
from quorate_connector.client.working.assigned import AssignedTask
from quorate_connector.client.working.held import Work
from quorate_connector.client.working.secrets import AllowedSecrets
from quorate_connector.types.faults import invalid
from quorate_connector.v1.connectors_pb2 import Connector
from quorate_connector.v1.tasks_pb2 import Task

C = TypeVar("C", bound=BaseModel)

#: Concurrent reads of definitions: a worker may be assigned thousands of tasks at once.
_CALLS: Final = 16
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner(Generic[C]):
    """The code by which a worker runs the tasks of a connector type."""

    #: The name of the type.
    name: str
    model: type[C]
    #: Runs a task until it is cancelled. An exception fails the task and is its reason; returning
    #: fails the task too.
    run: Callable[[AssignedTask[C]], Awaitable[None]]


class Preparation:
    """Resolves the definition, configuration and code of a task."""

    def __init__(
        self, q: AsyncClient, runners: Iterable[Runner[Any]], allowed: AllowedSecrets
    ) -> None:
        self._q: Final = q
        self._allowed: Final = allowed
        self._connectors: Final = Connectors(q)
        self._runners: Final = {runner.name: runner for runner in runners}
        self._calls: Final = asyncio.Semaphore(_CALLS)

    async def prepare(self, row: Task, fenced: Callable[[], None]) -> Work:
        """Return the work of a task; raises the reason why this worker cannot run it."""
        definition = (await self._connector(row)).definition
        runner = self._runners.get(definition.type)
        if runner is None:
            raise LookupError(
                f"this worker runs no connectors of the type {definition.type}, only of: "
                f"{', '.join(sorted(self._runners)) or 'none'}; give a label to the workers that "
                "do, and require it in the connector"
            )
        try:
            config = runner.model.model_validate_json(definition.config)
        except ValidationError as error:
            raise ValueError(
                f"this worker and the cluster disagree on the type {definition.type}: "
                f"{invalid(error)}; install the same version of the type"
            ) from None
        task = AssignedTask(
            self._q,
            row,
            tasks_max=definition.tasks_max,
            config=config,
            allowed=self._allowed,
            fenced=fenced,
        )
        return Work(run=partial(runner.run, task), secrets=lambda: task.secrets)

    async def _connector(self, row: Task) -> Connector:
        """Return the connector of a row, in any version.

        If the version differs, a row of that version is on its way, and the cluster does not agree
        to this one.
        """
        while True:
            with suppress(UnavailableError):
                async with self._calls:
                    found: Connector | None = await self._connectors.get(
                        row.id.tenant, row.id.connector
                    )
                if found is not None:
                    return found
            await asyncio.sleep(_PAUSE_S)
