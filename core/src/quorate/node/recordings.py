"""The records that a node keeps of its work: the flight recorder, the audit log and spans."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quorate.config import Settings
from quorate.node import admin_rights
from quorate.observe.audit import AuditLog
from quorate.observe.recorder import FILE, Recorder
from quorate.plugin.catalog import Catalog
from quorate.rpc.auditing import Audit, admin_methods
from quorate.rpc.server import ServingRefusedError
from quorate.shards.timing import end

if TYPE_CHECKING:
    from quorate.observe.collector import Collector
    from quorate.observe.traces import Traces

_log = logging.getLogger(__name__)

#: Spans that the collector does not take within this time of the end are lost.
LAST_SPANS_S: Final = 2.0
#: Interval between looks at the alarms that the flight recorder has.
_ALARMS_S: Final = 5.0


class Recordings:
    """Opens the records that the settings ask for, and closes them at the end of the node."""

    def __init__(
        self, settings: Settings, catalog: Catalog, directory: Path, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Raises `AuditError` and `ServingRefusedError`."""
        self._loop: Final = loop
        #: None without one, or without room for it.
        self.recorder: Final = _recorder(settings, directory)
        #: The destination and the source of spans.
        collector, traces = _traces(settings)
        self.collector: Final = collector
        self.traces: Final = traces
        self.log: AuditLog | None = None
        self.audit: Audit | None = None
        if (audit := settings.audit).file is not None:
            self.log = AuditLog(
                audit.file, largest=audit.file_bytes, kept=audit.files, node=settings.node.name
            )
            changing = admin_methods(admin_rights.SERVICE, admin_rights.ALWAYS)
            self.audit = Audit(self.log, catalog, changing, audit.omit)
        self._following: asyncio.Task[None] | None = None

    def begin(self, node: str, version: str, alarms: Callable[[], Iterable[str]]) -> None:
        """Record the start of the node, and follow its alarms."""
        if self.recorder is not None:
            self.recorder.event("start", node=node, version=version)
            self._following = self._loop.create_task(_record_alarms(self.recorder, alarms))

    def audited(self, fields: Mapping[str, object]) -> None:
        """Write a record to the audit log, if there is one."""
        if self.log is not None:
            self.log.write(fields)

    def end_following(self) -> None:
        """End the calls that follow the audit log."""
        if self.log is not None:
            self.log.end_following()

    async def close(self) -> None:
        """Record the end of the node, and write what is left."""
        await end(self._following)
        if self.recorder is not None:
            self.recorder.event("stop")
            self.recorder.close()
        if self.collector is not None:
            await self._loop.run_in_executor(None, self.collector.close, LAST_SPANS_S)
        if self.log is not None:
            await self._loop.run_in_executor(None, self.log.close)


async def _record_alarms(recorder: Recorder, alarms: Callable[[], Iterable[str]]) -> None:
    before: frozenset[str] = frozenset()
    while True:
        now = frozenset(alarms())
        for alarm in sorted(now - before):
            recorder.event("alarm", alarm=alarm)
        for alarm in sorted(before - now):
            recorder.event("alarm ended", alarm=alarm)
        before = now
        await asyncio.sleep(_ALARMS_S)


def demand_traces(settings: Settings) -> None:
    """Raise `ServingRefusedError` if traces are configured without their extra installed."""
    if settings.traces.endpoint is None:
        return
    try:
        import quorate.observe.collector
        import quorate.observe.traces  # noqa: F401
    except ModuleNotFoundError as error:
        raise ServingRefusedError(
            f"traces.endpoint needs {error.name}: pip install 'quorate[traces]'"
        ) from error


def _traces(settings: Settings) -> tuple[Collector | None, Traces | None]:
    """Return the destination and the source of spans; raises `ServingRefusedError`."""
    section = settings.traces
    if section.endpoint is None:
        return None, None
    demand_traces(settings)
    from quorate.observe.collector import collector_at
    from quorate.observe.traces import Traces

    collector = collector_at(section.endpoint, section.waiting_spans)
    provider = collector.provider(settings.node.name)
    return collector, Traces(provider, ratio=section.ratio, follows=section.callers)


def _recorder(settings: Settings, directory: Path) -> Recorder | None:
    if not settings.recorder.bytes:
        return None
    try:
        return Recorder(directory / FILE, settings.recorder.bytes)
    except OSError as error:
        _log.warning("there is no flight recorder: %s", error)
        return None
