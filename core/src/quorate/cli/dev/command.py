"""`quorate dev`: the command, from the first file to the last process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import click

from quorate.cli.dev.nodes import (
    DEFAULT_NODES,
    DEFAULT_PORT,
    MOST_NODES,
    DevNode,
    NodeProcess,
    claimed,
    cut_short,
    demand_free_ports,
    ended,
    prepare,
)
from quorate.cli.failures import ExitCode, Failure, failure
from quorate.cli.statuses import Silent, Status, Statuses, leads
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


@click.command("dev")
@click.option(
    "--nodes",
    type=click.IntRange(1, MOST_NODES),
    help=f"Number of nodes; default: those in the directory, else {DEFAULT_NODES}.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("quorate-dev"),
    show_default=True,
    help="Directory for the nodes' files, logs and data.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help=f"gRPC port of the first node; default: that in the directory, else {DEFAULT_PORT}. The "
    "next node has the next port, and HTTP is 100 above.",
)
@click.option("--tls", is_flag=True, help="Encrypt with generated certificates.")
@click.pass_obj
def command(
    terminal: Terminal, nodes: int | None, directory: Path, port: int | None, tls: bool
) -> None:
    """Run a whole cluster on this machine, with every sound plugin, until Ctrl-C.

    Its data stays in the directory, and the next call goes on with it.
    """
    terminal.warn_of_broken()
    plugins = terminal.plugins
    enabled = [
        each.plugin.name
        for each in plugins.declared
        if not each.plugin.built_in and each.plugin.name not in plugins.broken
    ]
    with claimed(directory):
        cluster = prepare(
            directory,
            nodes=nodes,
            port=port,
            enabled=enabled,
            models=plugins.section_models(),
            tls=tls,
        )
        demand_free_ports(cluster)
        counted = "1 node" if len(cluster) == 1 else f"{len(cluster)} nodes"
        terminal.report(
            f"{counted} in {directory.absolute()}, with the plugins "
            f"{', '.join(enabled) or 'of the core alone'}",
            {"event": "starting", "dir": str(directory.absolute()), "plugins": enabled},
        )
        asyncio.run(_Development(cluster, terminal).run())


class _Development:
    """The cluster while the command runs."""

    def __init__(self, nodes: Sequence[DevNode], terminal: Terminal) -> None:
        self._nodes: Final = nodes
        self._terminal: Final = terminal
        self._addresses: Final = {node.name: node.address for node in nodes}
        self._stopping: Final = asyncio.Event()
        self._ended: Final[dict[str, int]] = {}
        self._processes: Final[list[NodeProcess]] = []
        self._watchers: Final[list[asyncio.Task[None]]] = []
        self._stopped_at = 0.0
        self._ready = False

    async def run(self) -> None:
        """Start the nodes, follow them until a signal, and end them in any case."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._signalled)
        try:
            for node in self._nodes:
                process = await NodeProcess.start(node)
                self._processes.append(process)
                self._watchers.append(loop.create_task(self._await_end(process)))
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
            for process in self._processes:
                process.kill()
        elif not self._stopping.is_set():
            self._stopped_at = now
            self._stopping.set()
            self._terminal.report(
                "stopping the nodes; Ctrl-C again ends them at once", {"event": "stopping"}
            )

    async def _await_end(self, process: NodeProcess) -> None:
        code = await process.ended()
        self._ended[process.node.name] = code
        if self._ready and not self._stopping.is_set():
            said = ended(process, code)
            self._terminal.report(said.sentence, {"event": "ended", **said.parts})

    async def _follow(self) -> None:
        """Report when the cluster is ready, and then its events."""
        ca = self._nodes[0].ca
        async with Statuses(None if ca is None else Tls(ca=ca), BearerToken.of(None)) as statuses:
            look = await self._first_look(statuses)
            while len(self._ended) < len(self._nodes):
                await asyncio.sleep(_RUNNING_S)
                now = carried(look, Look.at(await statuses.of(self._addresses)))
                for event in changes(look, now):
                    self._terminal.report(*event)
                look = now
        raise failure("every node has ended", "read their logs, and start the cluster again")

    async def _first_look(self, statuses: Statuses) -> Look:
        loop = asyncio.get_running_loop()
        tell_at = loop.time() + _TELL_S
        while True:
            if self._ended:
                raise Failure(
                    ExitCode.FAILED,
                    [
                        cut_short(process, self._ended[process.node.name])
                        for process in self._processes
                        if process.node.name in self._ended
                    ],
                )
            answers = await statuses.of(self._addresses)
            look = Look.at(answers)
            if look.ready:
                break
            if loop.time() > tell_at:
                tell_at = loop.time() + _TELL_S
                waited_for = ", ".join([*look.silent, *sorted(look.unready)])
                self._terminal.warn(f"not ready yet: {waited_for}; their logs say why")
            await asyncio.sleep(_STARTING_S)
        rows: list[Mapping[str, object]] = [
            {
                "node": node.name,
                "address": node.address,
                "http": node.http_address,
                "pid": process.pid,
                "log": str(node.log.absolute()),
                "shards led": look.led_by(node.name),
            }
            for node, process in zip(self._nodes, self._processes, strict=True)
        ]
        self._ready = True
        if not self._terminal.json:
            self._terminal.print(
                {"node": row["node"], "address": row["address"], "pid": row["pid"]} for row in rows
            )
        first = self._nodes[0]
        console = f"http{'' if first.ca is None else 's'}://{first.http_address}/console"
        self._terminal.report(
            f"the console is at {console}, the logs are {first.log.parent.absolute()}/*.log\n"
            f"ready; Ctrl-C stops it, and `{self._elsewhere()}` in another terminal shows it",
            {"event": "ready", "nodes": rows, "console": console},
        )
        for event in alarms(None, look):
            self._terminal.report(*event)
        return look

    async def _stop(self) -> None:
        self._stopping.set()
        running = [each for each in self._processes if each.node.name not in self._ended]
        codes = await asyncio.gather(*(process.stop() for process in self._processes))
        await asyncio.gather(*self._watchers)
        ill = [
            cut_short(process, code)
            for process, code in zip(self._processes, codes, strict=True)
            if code not in _IN_ORDER and process in running and self._ready
        ]
        if ill:
            raise Failure(ExitCode.FAILED, ill)
        self._terminal.report("stopped", {"event": "stopped"})

    def _elsewhere(self) -> str:
        """Return the status command for this cluster, to be run in another terminal."""
        first, ca = split_address(self._nodes[0].address)[1], self._nodes[0].ca
        quorate = "quorate" if ca is None else f"quorate --tls-ca {ca}"
        if first == DEFAULT_PORT:
            return f"{quorate} status"
        return f"{quorate} status --endpoints {','.join(self._addresses.values())}"


class Leader(NamedTuple):
    """The leader of a shard and its term."""

    node: str
    term: int


class Event(NamedTuple):
    """A line for people, and its parts for programs."""

    sentence: str
    parts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The cluster as its nodes report it."""

    leaders: Mapping[str, Leader]
    silent: Mapping[str, str]
    unready: frozenset[str]
    alarms: frozenset[tuple[str, str]]

    @classmethod
    def at(cls, statuses: Mapping[str, Status]) -> Look:
        """Combine the statuses of the nodes; of two leaders, the one with the later term counts."""
        leaders: dict[str, Leader] = {}
        unready: set[str] = set()
        said = {node: each for node, each in statuses.items() if not isinstance(each, Silent)}
        for node, status in said.items():
            # A replica that has stopped is an alarm: nothing is to be waited for.
            stopped = status.broken or any(each.stopped for each in status.shards)
            if not status.ready and not stopped:
                unready.add(node)
            for shard in filter(leads, status.shards):
                known = leaders.get(shard.shard)
                if known is None or known.term < shard.term:
                    leaders[shard.shard] = Leader(node, shard.term)
        return cls(
            leaders=leaders,
            silent={
                node: each.reason for node, each in statuses.items() if isinstance(each, Silent)
            },
            unready=frozenset(unready),
            alarms=frozenset((node, each) for node in said for each in said[node].alarms),
        )

    @property
    def ready(self) -> bool:
        """Whether every node answers and is ready."""
        return not self.silent and not self.unready

    def led_by(self, node: str) -> list[str]:
        """Return the shards that a node leads."""
        return sorted(shard for shard, leader in self.leaders.items() if leader.node == node)


def alarms(before: Look | None, now: Look) -> Iterator[Event]:
    """Report new alarms."""
    for node, alarm in sorted(now.alarms - (frozenset() if before is None else before.alarms)):
        yield Event(f"{node}: {alarm}", {"event": "alarm", "node": node, "alarm": alarm})


def changes(before: Look, now: Look) -> Iterator[Event]:
    """Yield the events between two looks: new leaders, nodes silent or answering again, alarms."""
    for node in (each for each in now.silent if each not in before.silent):
        reason = now.silent[node]
        parts = {"event": "silent", "node": node, "reason": reason}
        yield Event(f"{node} does not answer: {reason}", parts)
    for node in (each for each in before.silent if each not in now.silent):
        yield Event(f"{node} answers again", {"event": "answering", "node": node})
    for shard, leader in now.leaders.items():
        if before.leaders.get(shard) != leader:
            yield Event(
                f"{shard} is led by {leader.node} (term {leader.term})",
                {"event": "leader", "shard": shard, "node": leader.node, "term": leader.term},
            )
    yield from alarms(before, now)


def carried(before: Look, now: Look) -> Look:
    """Return the new look; shards without a reported leader keep their last known one."""
    return replace(now, leaders={**before.leaders, **now.leaders})
