"""Gets a task ready: its definition, its configuration, and the code that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from quorate.client import AsyncClient, UnavailableError

from quorate_connector.client.connectors import Connectors
from quorate_connector.client.working.assigned import AssignedTask
from quorate_connector.client.working.secrets import AllowedSecrets
from quorate_connector.types.faults import invalid
from quorate_connector.v1.connectors_pb2 import Connector
from quorate_connector.v1.tasks_pb2 import Task

C = TypeVar("C", bound=BaseModel)

#: Definitions that are asked for at a time: a worker may be given thousands of tasks at once.
_CALLS: Final = 16
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner(Generic[C]):
    """How a worker runs the tasks of a type of connectors."""

    #: Of the type.
    name: str
    model: type[C]
    #: Runs a task until it is cancelled. What it raises is the reason why the task has failed; to
    #: return is to fail too.
    run: Callable[[AssignedTask[C]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWork:
    """The code of a type, and the task that it is to run."""

    task: AssignedTask[Any]
    code: Callable[[AssignedTask[Any]], Awaitable[None]]

    def run(self) -> Awaitable[None]:
        """Run the task until it is cancelled."""
        return self.code(self.task)

    @property
    def secrets(self) -> frozenset[str]:
        """What the code has read, and errors must not show."""
        return self.task.secrets


class Preparation:
    """Finds out what a task is to do, and whether this worker can do it."""

    def __init__(
        self, q: AsyncClient, runners: Iterable[Runner[Any]], allowed: AllowedSecrets
    ) -> None:
        self._q: Final = q
        self._allowed: Final = allowed
        self._connectors: Final = Connectors(q)
        self._runners: Final = {runner.name: runner for runner in runners}
        self._calls: Final = asyncio.Semaphore(_CALLS)

    async def prepare(self, row: Task, fenced: Callable[[], None]) -> PreparedWork:
        """Return the work of a task; raises why this worker cannot do it."""
        definition = (await self._connector(row)).definition
        runner = self._runners.get(definition.type)
        if runner is None:
            raise LookupError(
                f"this worker runs no connectors of the type {definition.type}, but "
                f"{', '.join(sorted(self._runners)) or 'none'}; give those that do a label, and "
                "let the connector ask for it"
            )
        try:
            config = runner.model.model_validate_json(definition.config)
        except ValidationError as error:
            raise ValueError(
                f"this worker reads the type {definition.type} otherwise than the cluster: "
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
        return PreparedWork(task=task, code=runner.run)

    async def _connector(self, row: Task) -> Connector:
        """Return the connector of a row; one of another version is as good.

        A row of that version is on its way then, and the cluster does not agree to this one.
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
