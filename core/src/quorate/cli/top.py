"""`quorate top`: the live activity of a cluster in a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from quorate.cli.activity import NAMES, Activity
from quorate.cli.options import option
from quorate.cli.samples import samples_in, texts_of
from quorate.cli.status import ClusterView, views
from quorate.cli.tables import show, table_of
from quorate.cli.terminal import Terminal

if TYPE_CHECKING:
    from quorate.client import AsyncClient

Row = Mapping[str, object]
Parts = Mapping[str, Sequence[Row]]

#: Maximum number of methods shown, the most called first.
_METHODS: Final = 10
#: Maximum number of shards on the screen.
_SHARDS: Final = 20
#: How many of the last rates of a shard its line shows.
_PAST: Final = 24
_BARS: Final = "▁▂▃▄▅▆▇█"
_NODES: Final = {
    **{name: name for name in ("node", "state", "leads", "watches")},
    "open_calls": "calls",
    "fsync_p99_ms": "fsync_ms",
    "longest_stop_ms": "stop_ms",
    "disk_free_gb": "free_gb",
}
_CALLS: Final = {
    "method": "method",
    "calls_per_s": "calls/s",
    "failed_per_s": "failed/s",
    **{name: name for name in ("open", "p50_ms", "p99_ms")},
}
_SHORTEST_S: Final = 0.2
_LONGEST_S: Final = 3_600.0


@dataclass(slots=True)
class Screen:
    """What the user chose by keys, and what the lines of shards showed before."""

    every_s: float
    paused: bool = False
    by_name: bool = False
    _past: dict[str, deque[float]] = field(default_factory=dict)

    def take(self, key: str) -> None:
        """Do what a key stands for; any other key does nothing."""
        match key:
            case "p" | " ":
                self.paused = not self.paused
            case "s":
                self.by_name = not self.by_name
            case "+":
                self.every_s = min(2 * self.every_s, _LONGEST_S)
            case "-":
                self.every_s = max(self.every_s / 2, _SHORTEST_S)

    def lines(self, parts: Parts) -> Parts:
        """Return the parts as a screen has them: with one line a shard, the busiest ones first."""
        written = {str(row["shard"]): row for row in parts["writes"]}
        rows = [self._line(row, written.get(str(row["shard"]), {})) for row in parts["shards"]]
        known = {str(row["shard"]) for row in rows}
        self._past = {shard: past for shard, past in self._past.items() if shard in known}
        if not self.by_name:
            rows.sort(key=lambda row: -(row["commands/s"] or 0))
        more = f" ({_SHARDS} of {len(rows)})" if len(rows) > _SHARDS else ""
        others = {title: part for title, part in parts.items() if title not in ("shards", "writes")}
        return {
            "alarms": others.pop("alarms"),
            "nodes": [_renamed(row, _NODES) for row in others.pop("nodes")],
            f"shards{more}": rows[:_SHARDS],
            "calls": [_renamed(row, _CALLS) for row in others.pop("calls")],
            **others,
        }

    def foot(self) -> str:
        """Return the line that says which keys there are."""
        sort = "rate" if self.by_name else "name"
        return f"q quit   p pause   s sort by {sort}   + - refresh every {self.every_s:g} s"

    def _line(self, shard: Row, written: Row) -> dict[str, Any]:
        name, rate = str(shard["shard"]), shard.get("commands/s")
        past = self._past.setdefault(name, deque(maxlen=_PAST))
        past.append(float(str(rate or 0)))
        return {
            "shard": name,
            "leader": shard["leader"],
            "commands/s": rate,
            **{key: written.get(key) for key in ("p50_ms", "p99_ms")},
            "lag": " ".join(map(str, shard["lag"])) if isinstance(shard["lag"], list) else None,
            "rates": spark(past),
        }


def _renamed(row: Row, columns: Mapping[str, str]) -> Row:
    """Return the columns that a screen of 80 columns has room for, under short names."""
    short = {short: row.get(name) for name, short in columns.items()}
    if "method" in short:
        # The package says little beside the name of its service.
        short["method"] = str(short["method"]).rpartition(".")[2]
    return short


def spark(values: Sequence[float]) -> str:
    """Return values as bars, of which the greatest value has the whole height."""
    most = max(values, default=0.0) or 1.0
    return "".join(_BARS[round(each / most * (len(_BARS) - 1))] for each in values)


@click.command("top")
@option(
    "--every",
    "Refresh interval in seconds; rates are averaged over it.",
    click.FloatRange(_SHORTEST_S, _LONGEST_S),
    2.0,
)
@option("--times", "Number of refreshes; default: until Ctrl-C.", click.IntRange(1))
@click.pass_obj
def command(terminal: Terminal, every: float, times: int | None) -> None:
    """Show alarms, nodes, shards, and the rates and latencies of writes and calls.

    Rates and latencies are averaged since the last refresh. They come from the metrics of the
    nodes: this machine has to reach their HTTP ports. JSON output is one object per line
    for each refresh. On a terminal, q ends it, p pauses, s sorts shards by name or by rate, and
    + and - change the interval.
    """
    whole = sys.stdout.isatty() and not terminal.json
    live = Live(auto_refresh=False, screen=True) if whole else None

    screen = Screen(every)

    async def look(client: AsyncClient) -> None:
        seen = 0
        keyboard = pressed() if live else nullcontext(asyncio.Queue[str]())
        with keyboard as keys:
            async with aclosing(_looks(client)) as looks:
                async for parts in looks:
                    if live is not None:
                        shown = Group(_rendered(screen.lines(parts)), Text(screen.foot()))
                        live.update(shown, refresh=True)
                    elif terminal.json:
                        terminal.report("", parts)
                    else:
                        show(_rendered(screen.lines(parts)))
                    seen += 1
                    if seen == times or not await _next(keys, screen):
                        return

    with live or nullcontext():
        terminal.follow(look)


@contextmanager
def pressed() -> Iterator[asyncio.Queue[str]]:
    """Yield a queue of the keys that are pressed, without waiting for Enter.

    Where standard input is no terminal, none is. Ctrl-C stays what it is.
    """
    keys: asyncio.Queue[str] = asyncio.Queue()
    if not sys.stdin.isatty():
        yield keys
        return
    import termios
    import tty

    stdin, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(stdin)

    def read() -> None:
        for key in os.read(stdin, 64).decode(errors="ignore"):
            keys.put_nowait(key)

    tty.setcbreak(stdin)
    loop.add_reader(stdin, read)
    try:
        yield keys
    finally:
        loop.remove_reader(stdin)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


async def _next(keys: asyncio.Queue[str], screen: Screen) -> bool:
    """Wait for the next refresh and carry out keys; return False when the user has enough."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while screen.paused or loop.time() < began + screen.every_s:
        left = None if screen.paused else began + screen.every_s - loop.time()
        try:
            key = await asyncio.wait_for(keys.get(), left)
        except TimeoutError:
            return True
        if key == "q":
            return False
        screen.take(key)
    return True


async def _looks(client: AsyncClient) -> AsyncGenerator[Parts, None]:
    activity: Activity | None = None
    async with aclosing(views(client)) as looks:
        async for view, found in looks:
            texts = await texts_of(client, found, NAMES)
            read = {node: text for node, text in texts.items() if isinstance(text, str)}
            samples = {node: samples_in(text, NAMES) for node, text in read.items()}
            before, activity = activity, Activity(at_s=time.monotonic(), samples=samples)
            yield dict(_parts(view, activity, before))


def _parts(
    view: ClusterView, activity: Activity, before: Activity | None
) -> Iterator[tuple[str, Sequence[Row]]]:
    rates = activity.since(before)
    tables = dict(view.tables())
    yield "alarms", tables.get("alarms", [])
    measured = {str(row["node"]): row for row in rates.nodes()}
    yield (
        "nodes",
        [
            {
                **{name: row[name] for name in ("node", "version", "state", "hosts", "leads")},
                **measured.get(str(row["node"]), {}),
            }
            for row in view.rows["nodes"]
        ],
    )
    yield "shards", tables.get("shards", [])
    yield "writes", list(rates.writes())
    yield "calls", rates.calls()[:_METHODS]
    yield "failing controllers", [row for row in view.rows["controllers"] if row["error"]]


def _rendered(parts: Parts) -> Group:
    return Group(*(table_of(rows, title=title) for title, rows in parts.items() if rows))
