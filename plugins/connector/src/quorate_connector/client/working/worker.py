"""A worker, which registers and runs tasks until it is stopped or its name is taken over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from quorate.client import (
    AsyncClient,
    OutcomeUnknownError,
    Registration,
    RejectedError,
    UnavailableError,
)

from quorate_connector.client.working.assigned import FENCED
from quorate_connector.client.working.preparing import Preparation, Runner
from quorate_connector.client.working.secrets import AllowedSecrets
from quorate_connector.client.working.shift import Shift
from quorate_connector.v1.tasks_pb2 import Task

#: The role of the brokers that run tasks of connectors.
ROLE: Final = "connector"
TIMEOUT_MS: Final = 10_000

_log: Final = logging.getLogger(__name__)


class ConnectorWorker:
    """Runs the tasks that the cluster assigns to a worker of this name, in this event loop.

    A task is cancelled when the cluster takes it away, when another process has the name, and when
    the cluster has been silent for nine tenths of `timeout_ms`: another worker may have it then.
    `secrets` limits the secrets that connectors may refer to here; the default allows variables
    that begin with `QUORATE_SECRET_`.
    """

    def __init__(
        self,
        q: AsyncClient,
        name: str,
        cluster_name: str,
        runners: Iterable[Runner[Any]],
        *,
        labels: Mapping[str, str] | None = None,
        timeout_ms: int = TIMEOUT_MS,
        secrets: AllowedSecrets | None = None,
    ) -> None:
        self._q: Final = q
        self._name: Final = name
        self._cluster_name: Final = cluster_name
        self._preparation: Final = Preparation(q, runners, secrets or AllowedSecrets())
        self._labels: Final = labels
        self._timeout_ms: Final = timeout_ms
        self._shift: Shift | None = None

    @property
    def running(self) -> list[Task]:
        """The tasks whose code runs here, or is about to."""
        return [] if self._shift is None else self._shift.running

    async def run(self) -> None:
        """Work until cancelled; then stop the tasks and deregister the worker.

        An expired registration is renewed. Raises `RejectedError` FENCED when another process has
        registered under the name.
        """
        while True:
            try:
                ended = await self._work()
            except (UnavailableError, OutcomeUnknownError) as error:
                _log.warning("worker %s could not register, retrying: %s", self._name, error)
                continue
            if ended.code == FENCED:
                raise ended
            _log.warning("worker %s registers again: %s", self._name, ended)

    async def _work(self) -> RejectedError:
        """Work until the registration ends, and return the error that ended it."""
        async with self._q.brokers.registered(
            self._name,
            self._cluster_name,
            roles=[ROLE],
            labels=self._labels,
            ttl_ms=self._timeout_ms,
        ) as registration:
            self._shift = Shift(self._q, registration.broker, self._preparation.prepare)
            try:
                return await _until_lost(self._shift, registration)
            finally:
                await self._shift.end()
                self._shift = None


async def _until_lost(shift: Shift, registration: Registration) -> RejectedError:
    loop = asyncio.get_running_loop()
    lost = loop.create_task(registration.lost())
    working = [loop.create_task(shift.follow()), loop.create_task(shift.report())]
    try:
        await asyncio.wait((lost, *working), return_when=asyncio.FIRST_COMPLETED)
        for each in working:
            if each.done():
                # It never returns: this raises the failure.
                each.result()
        return lost.result()
    finally:
        lost.cancel()
        for ending in working:
            ending.cancel()
        await asyncio.gather(lost, *working, return_exceptions=True)
