"""The cluster of `quorate dev` while the command runs."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from quorate.cli.dev.control import Answer, Request, listening
from quorate.cli.dev.looks import Look, alarms, carried, changes
from quorate.cli.dev.nodes import DEFAULT_DIRECTORY, DEFAULT_PORT, DevNode
from quorate.cli.dev.processes import NodeProcess, cut_short, ended
from quorate.cli.failures import ExitCode, Failure, failure
from quorate.cli.statuses import Statuses
from quorate.cli.terminal import Terminal
from quorate.client import Tls
from quorate.client.tokens import BearerToken
from quorate.config import split_address

#: How often the nodes are asked, before all are ready and afterwards.
_STARTING_S: Final = 0.1
_RUNNING_S: Final = 0.5
#: Time after which a signal counts as another one.
_AGAIN_S: Final = 0.5
#: Exit codes of a node that was stopped; the signal itself if it came before or after its life.
_IN_ORDER: Final = (0, -signal.SIGTERM, -signal.SIGINT)
#: Seconds between reports of the conditions that a start waits for.
_TELL_S: Final = 10.0
#: How long `quorate dev start` waits for the node to be ready.
_READY_S: Final = 60.0


class Development:
    """Starts the nodes, follows them, and does with them as it is asked to."""

    def __init__(self, directory: Path, nodes: Sequence[DevNode], terminal: Terminal) -> None:
        self._directory: Final = directory
        self._nodes: Final = {node.name: node for node in nodes}
        self._terminal: Final = terminal
        self._addresses: Final = {node.name: node.address for node in nodes}
        self._stopping: Final = asyncio.Event()
        #: The last process of each node.
        self._processes: Final[dict[str, NodeProcess]] = {}
        #: Of two requests about one node the second waits.
        self._turns: Final = {node.name: asyncio.Lock() for node in nodes}
        self._watchers: Final[set[asyncio.Task[None]]] = set()
        self._stopped_at = 0.0
        self._ready = False

    async def run(self) -> None:
        """Start the nodes, follow them until a signal, and end them in any case."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._signalled)
        try:
            for node in self._nodes:
                await self._start(node)
            following = loop.create_task(self._follow())
            stopping = loop.create_task(self._stopping.wait())
            try:
                await asyncio.wait([following, stopping], return_when=asyncio.FIRST_COMPLETED)
                if following.done() and not self._stopping.is_set():
                    following.result()
            finally:
                following.cancel()
                stopping.cancel()
                await asyncio.gather(following, stopping, return_exceptions=True)
        finally:
            await self._stop()

    def _signalled(self) -> None:
        """End in order at the first signal, and at once at a later one."""
        now = asyncio.get_running_loop().time()
        # A wrapper that forwards signals may send one Ctrl-C twice.
        if self._stopping.is_set() and now > self._stopped_at + _AGAIN_S:
            for process in self._processes.values():
                process.kill()
        elif not self._stopping.is_set():
            self._stopped_at = now
            self._stopping.set()
            self._terminal.report(
                "stopping the nodes; Ctrl-C again ends them at once", {"event": "stopping"}
            )

    async def _start(self, node: str) -> NodeProcess:
        process = self._processes[node] = await NodeProcess.start(self._nodes[node])
        watcher = asyncio.create_task(self._await_end(process))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return process

    async def _await_end(self, process: NodeProcess) -> None:
        code = await process.ended()
        if self._ready and not self._stopping.is_set() and not process.requested:
            said = ended(process, code, self._command(f"dev start {process.node.name}"))
            self._terminal.report(said.sentence, {"event": "ended", **said.parts})

    async def _follow(self) -> None:
        """Report when the cluster is ready, and then its events."""
        ca = next(iter(self._nodes.values())).ca
        async with Statuses(None if ca is None else Tls(ca=ca), BearerToken.of(None)) as statuses:
            look = await self._first_look(statuses)

            async def answer(request: Request) -> Answer:
                return await self._answer(request, statuses)

            async with listening(self._directory, answer):
                self._report_ready(look)
                while not self._lost:
                    await asyncio.sleep(_RUNNING_S)
                    now = carried(look, Look.at(await statuses.of(self._addresses)))
                    for event in changes(look, now):
                        self._terminal.report(*event)
                    look = now
        raise failure("every node has ended", "read their logs, and start the cluster again")

    @property
    def _lost(self) -> bool:
        """Whether every node has ended, and none of them because somebody asked for it."""
        last = self._processes.values()
        return all(each.code is not None and not each.requested for each in last)

    async def _first_look(self, statuses: Statuses) -> Look:
        loop = asyncio.get_running_loop()
        tell_at = loop.time() + _TELL_S
        while True:
            over = [
                cut_short(process, process.code)
                for process in self._processes.values()
                if process.code is not None
            ]
            if over:
                raise Failure(ExitCode.FAILED, over)
            look = Look.at(await statuses.of(self._addresses))
            if look.ready:
                return look
            if loop.time() > tell_at:
                tell_at = loop.time() + _TELL_S
                waited_for = ", ".join([*look.silent, *sorted(look.unready)])
                self._terminal.warn(f"not ready yet: {waited_for}; their logs say why")
            await asyncio.sleep(_STARTING_S)

    def _report_ready(self, look: Look) -> None:
        self._ready = True
        rows: list[Mapping[str, object]] = [
            {
                "node": node.name,
                "address": node.address,
                "http": node.http_address,
                "pid": self._processes[node.name].pid,
                "log": str(node.log.absolute()),
                "shards led": look.led_by(node.name),
            }
            for node in self._nodes.values()
        ]
        if not self._terminal.json:
            self._terminal.print(
                {"node": row["node"], "address": row["address"], "pid": row["pid"]} for row in rows
            )
        first = next(iter(self._nodes.values()))
        console = f"http{'' if first.ca is None else 's'}://{first.http_address}/console"
        self._terminal.report(
            f"the console is at {console}, the logs are {first.log.parent.absolute()}/*.log\n"
            f"ready; Ctrl-C stops it, and `{self._status()}` in another terminal shows it",
            {"event": "ready", "nodes": rows, "console": console},
        )
        for event in alarms(None, look):
            self._terminal.report(*event)

    async def _answer(self, request: Request, statuses: Statuses) -> Answer:
        node = request.node
        if node not in self._nodes:
            return Answer(
                False, f"there is no node {node}", f"name one of {', '.join(self._nodes)}"
            )
        async with self._turns[node]:
            if self._stopping.is_set():
                return Answer(False, "the cluster is stopping", "start it again with `quorate dev`")
            if request.verb == "start":
                return await self._start_again(node, statuses)
            if request.verb not in ("kill", "stop"):
                return Answer(False, f"{request.verb} is unknown", "use kill, stop or start")
            return await self._end(node, at_once=request.verb == "kill")

    async def _end(self, node: str, *, at_once: bool) -> Answer:
        process = self._processes[node]
        if process.code is not None:
            again = self._command(f"dev start {node}")
            return Answer(False, f"{node} does not run", f"start it with `{again}`")
        process.requested = True
        if at_once:
            process.kill()
        code = await process.stop()
        said = f"{node} was {'killed' if at_once else 'stopped'}"
        if not at_once and code not in _IN_ORDER:
            said = cut_short(process, code).sentence
        self._terminal.report(said, {"event": "ended", "node": node, "exit_code": code})
        return Answer(True, said)

    async def _start_again(self, node: str, statuses: Statuses) -> Answer:
        if self._processes[node].code is None:
            pid = self._processes[node].pid
            return Answer(False, f"{node} runs already, as process {pid}", "stop or kill it first")
        process = await self._start(node)
        said = f"{node} was started (pid {process.pid})"
        self._terminal.report(said, {"event": "started", "node": node, "pid": process.pid})
        loop = asyncio.get_running_loop()
        until = loop.time() + _READY_S
        while process.code is None and loop.time() < until and not self._stopping.is_set():
            if Look.at(await statuses.of({node: self._addresses[node]})).ready:
                return Answer(True, f"{said} and is ready")
            await asyncio.sleep(_STARTING_S)
        if process.code is not None:
            return Answer(False, cut_short(process, process.code).sentence)
        return Answer(True, f"{said}; it is not ready yet, and {process.node.log} says why")

    async def _stop(self) -> None:
        self._stopping.set()
        last = list(self._processes.values())
        running = [each for each in last if each.code is None]
        codes = await asyncio.gather(*(process.stop() for process in running))
        await asyncio.gather(*self._watchers)
        ill = [
            cut_short(process, code)
            for process, code in zip(running, codes, strict=True)
            if code not in _IN_ORDER and not process.requested and self._ready
        ]
        if ill:
            raise Failure(ExitCode.FAILED, ill)
        self._terminal.report("stopped", {"event": "stopped"})

    def _status(self) -> str:
        """Return the status command for this cluster, to be run in another terminal."""
        first = next(iter(self._nodes.values()))
        quorate = "quorate" if first.ca is None else f"quorate --tls-ca {first.ca}"
        if split_address(first.address)[1] == DEFAULT_PORT:
            return f"{quorate} status"
        return f"{quorate} status --endpoints {','.join(self._addresses.values())}"

    def _command(self, words: str) -> str:
        """Return a command about this directory, to be run in another terminal."""
        if self._directory == DEFAULT_DIRECTORY:
            return f"quorate {words}"
        return f"quorate {words} --dir {shlex.quote(str(self._directory))}"
