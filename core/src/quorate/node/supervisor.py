"""Runs the workers of a machine as processes: starts, restarts and ends them."""

import asyncio
import errno
import logging
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.config import Settings, join_address
from quorate.config.workers import Worker
from quorate.node.certificates import CertificateError, Certificates
from quorate.node.directory import OtherProcessesError, check_processes
from quorate.node.machine import Machine
from quorate.node.supervision import keep_alive, tell, unheard
from quorate.rpc.server import ServingRefusedError
from quorate.shards.timing import end

_log = logging.getLogger(__name__)

#: The delay before an ended worker is restarted; it doubles with each further end.
PAUSE_S: Final = 0.2
#: A worker that ends more often than this within the window is not restarted.
MOST_ENDS: Final = 5
WINDOW_S: Final = 60.0
#: Timeout of an orderly end, which transfers leaders and finishes calls.
END_S: Final = 25.0
#: Interval between checks whether all workers are ready.
_LOOK_S: Final = 0.2

#: Returns the command that runs the worker of a number.
CommandOf = Callable[[int], Sequence[str]]


class WorkersEndedError(Exception):
    """No worker runs any more; the text says why."""

    def __init__(self, text: str, code: int | None) -> None:
        super().__init__(text)
        #: The exit code with which all of them ended permanently; None: a restart may help.
        self.code: Final = code


#: Errors that prevent the start of the workers.
REFUSED: Final = (CertificateError, OtherProcessesError, OSError, ServingRefusedError)


@dataclass(eq=False)
class _Running:
    """A worker and its current process."""

    number: int
    worker: Worker
    process: asyncio.subprocess.Process | None = None
    #: Why it is not restarted; empty: it is.
    given_up: str = ""
    #: The exit code with which it ended permanently.
    code: int | None = None
    starts: int = 0
    ends: deque[float] = field(default_factory=deque)


class Supervisor:
    """Runs the workers of a machine until SIGTERM or SIGINT, which stop them in order.

    A worker that ends by itself is restarted after a growing delay. One that ends too often, or
    permanently, stays down while the others go on; `/readyz` reports it.
    """

    def __init__(
        self,
        settings: Settings,
        workers: Sequence[Worker],
        command_of: CommandOf,
        for_good: Mapping[int, str],
    ) -> None:
        """`for_good` maps the exit codes of workers that end permanently to the reasons.

        Raises `ServingRefusedError`, `CertificateError` and `OtherProcessesError`."""
        check_processes(settings.node, len(workers))
        _check_ports(settings, workers)
        self._settings: Final = settings
        self._command_of: Final = command_of
        self._for_good: Final = for_good
        self._workers: Final = [_Running(number, each) for number, each in enumerate(workers, 1)]
        self._stop: Final = asyncio.Event()
        tls, first = settings.tls, workers[0]
        self._certificates: Final = Certificates(tls, first.name) if tls.enabled else None
        self._machine: Final = Machine(workers, tls.ca_file, self._states)

    async def run(self) -> None:
        """Run all workers; raises `WorkersEndedError` when none of them can go on."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop.set)
        node = self._settings.node
        if self._certificates is not None:
            self._certificates.follow(loop)
        http_tls = None if self._certificates is None else self._certificates.http
        server = self._machine.serve(node.host, node.http_port, http_tls)
        parts = (self._tell_when_ready(), self._tell_when_stopping(), keep_alive())
        beside = [loop.create_task(each) for each in parts]
        try:
            await asyncio.gather(*map(self._keep, self._workers))
        finally:
            await end(*beside)
            await self._end()
            await loop.run_in_executor(None, server.close)
            if self._certificates is not None:
                await self._certificates.stop()
        if self._stop.is_set():
            _log.info("stopped")
            return
        [code, *further] = {each.code for each in self._workers}
        raise WorkersEndedError(
            "; ".join(f"{each.worker.name} {each.given_up}" for each in self._workers),
            None if further else code,
        )

    # One worker.

    async def _keep(self, running: _Running) -> None:
        """Run and restart a worker; return when all are stopped, or it is given up."""
        name, loop = running.worker.name, asyncio.get_running_loop()
        while not self._stop.is_set():
            code = await self._run_once(running)
            if self._stop.is_set():
                return
            now = loop.time()
            running.ends.append(now)
            while running.ends[0] < now - WINDOW_S:
                running.ends.popleft()
            if code in self._for_good:
                running.code = code
                running.given_up = self._for_good[code]
            elif len(running.ends) > MOST_ENDS:
                running.given_up = (
                    f"ended {len(running.ends)} times within {WINDOW_S:g} s, the last time with"
                    f" {_how(code)}, and is not restarted: check its log, and restart this process"
                )
            if running.given_up:
                _log.error("worker %s %s", name, running.given_up)
                return
            delay_s = PAUSE_S * 2 ** (len(running.ends) - 1)
            _log.warning(
                "worker %s ended with %s; starting it again in %g s", name, _how(code), delay_s
            )
            try:
                async with asyncio.timeout(delay_s):
                    await self._stop.wait()
            except TimeoutError:
                continue

    async def _run_once(self, running: _Running) -> int:
        """Run the process of a worker to its end, and return its exit code."""
        process = running.process = await asyncio.create_subprocess_exec(
            *self._command_of(running.number),
            # Never written to: the worker ends when it closes, however this process ends.
            stdin=asyncio.subprocess.PIPE,
            # Ctrl-C is for this process, which ends the workers in order.
            start_new_session=True,
            env=unheard(),
        )
        running.starts += 1
        _log.info("worker %s runs as process %d", running.worker.name, process.pid)
        stopping = asyncio.create_task(self._stop.wait())
        ending = asyncio.create_task(process.wait())
        try:
            await asyncio.wait([stopping, ending], return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                process.terminate()
                try:
                    async with asyncio.timeout(END_S):
                        await asyncio.shield(ending)
                except TimeoutError:
                    _log.warning("killing worker %s: it does not end", running.worker.name)
                    process.kill()
            return await ending
        finally:
            stopping.cancel()
            # A cancelled call leaves the process to `_end`.
            if process.returncode is not None:
                running.process = None

    async def _end(self) -> None:
        """Kill the processes that still run, if this process fails."""
        for each in self._workers:
            if each.process is not None:
                each.process.kill()
                await each.process.wait()

    # Reports.

    def _states(self) -> Iterator[tuple[str, bool, int, str]]:
        """Yield for each worker its name, whether it runs, its starts, and why it was given up."""
        for each in self._workers:
            yield each.worker.name, each.process is not None, each.starts, each.given_up

    async def _tell_when_ready(self) -> None:
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, self._machine.missing):
            await asyncio.sleep(_LOOK_S)
        node = self._settings.node
        names = ", ".join(each.worker.name for each in self._workers)
        _log.info("ready: workers %s behind %s", names, node.address)
        tell("READY=1")

    async def _tell_when_stopping(self) -> None:
        await self._stop.wait()
        tell("STOPPING=1")


def _check_ports(settings: Settings, workers: Sequence[Worker]) -> None:
    """Raise `ServingRefusedError` if another process listens on any of the ports.

    The workers share the port for clients, so they would also share it with another program.
    """
    node = settings.node
    ports = [("clients", "port", node.port), ("metrics and probes", "http_port", node.http_port)]
    for each in workers:
        own = each.settings.node
        ports.append((f"worker {each.name}", "port", own.port))
        ports.append((f"metrics of worker {each.name}", "http_port", own.http_port))
        if own.peer_port:
            ports.append((f"other nodes at worker {each.name}", "peer_port", own.peer_port))
    busy = [
        f"{join_address(node.host, port)}, for {use}, is in use: stop the process that uses it, or"
        f" set node.{key} to another one"
        for use, key, port in ports
        if _is_busy(node.host, port)
    ]
    if busy:
        raise ServingRefusedError("; ".join(busy))


def _is_busy(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
