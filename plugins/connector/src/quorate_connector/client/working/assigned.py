"""A task as the code of a connector receives it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from quorate.client import AsyncClient, OutcomeUnknownError, RejectedError

from quorate_connector.api import SecretRef
from quorate_connector.client.tasks import Tasks
from quorate_connector.client.working.secrets import AllowedSecrets
from quorate_connector.v1.tasks_pb2 import Cursor, StoreCursor, Task

C = TypeVar("C")

#: The task has passed to another worker.
FENCED: Final = "FENCED"
#: The stored cursor has another version than the expected one.
CONFLICT: Final = "CURSOR_CONFLICT"


class AssignedTask(Generic[C]):
    """A task that this worker runs, until it is cancelled.

    The tasks of a connector divide its work by their numbers, from 0 to `tasks_max` - 1.
    """

    def __init__(
        self,
        q: AsyncClient,
        row: Task,
        *,
        tasks_max: int,
        config: C,
        allowed: AllowedSecrets,
        fenced: Callable[[], None],
    ) -> None:
        self._q: Final = q
        self._row: Final = row
        self._allowed: Final = allowed
        self._fenced: Final = fenced
        self._storing: Final = asyncio.Lock()
        self._cursor: Cursor | None = None
        self._secrets: Final[set[str]] = set()
        self.tenant: Final = row.id.tenant
        self.connector: Final = row.id.connector
        self.number: Final = row.id.number
        self.tasks_max: Final = tasks_max
        #: Larger than the epoch of every earlier worker: a fencing token for the task's target.
        self.epoch: Final = row.epoch
        #: The configuration, parsed by the model of the type.
        self.config: Final = config

    async def secret(self, reference: SecretRef) -> str:
        """Return a secret of the configuration.

        Raises `SecretError` if it is missing, or if the worker does not allow it. The reason of a
        later failure of the task does not show it.
        """
        secret = await self._allowed.resolve(reference)
        self._secrets.add(secret)
        return secret

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets that the task has read."""
        return frozenset(self._secrets)

    async def cursor(self) -> bytes:
        """Return the cursor that the task stored last; empty if it has stored none."""
        async with self._storing:
            return (await self._kept()).value

    async def store_cursor(self, value: bytes) -> None:
        """Store the cursor of the task; returns when it is committed.

        Raises `RejectedError` FENCED if the task has passed to another worker, and cancels it.
        """
        async with self._storing:
            expected = (await self._kept()).version
            while True:
                try:
                    self._cursor = await self._store(expected, value)
                except OutcomeUnknownError:
                    # The next attempt stores it, or finds it stored.
                    continue
                except RejectedError as error:
                    if error.code == FENCED:
                        self._fenced()
                    if error.code != CONFLICT:
                        raise
                    self._cursor = await self._read()
                    if not self._is_own(self._cursor, expected, value):
                        raise
                return

    async def _kept(self) -> Cursor:
        if self._cursor is None:
            self._cursor = await self._read()
        return self._cursor

    async def _read(self) -> Cursor:
        found = await Tasks(self._q).cursor(self.tenant, self.connector, self.number)
        return found or Cursor()

    async def _store(self, expected_version: int, value: bytes) -> Cursor:
        command = StoreCursor(
            task=self._row.id,
            worker_epoch=self._row.worker_epoch,
            epoch=self._row.epoch,
            expected_version=expected_version,
            value=value,
        )
        return await self._q.execute(command, Cursor)

    def _is_own(self, kept: Cursor, expected_version: int, value: bytes) -> bool:
        """Return whether an earlier attempt, whose reply was lost, has stored this cursor."""
        stored = kept.version, kept.epoch, kept.value
        return stored == (expected_version + 1, self.epoch, value)
