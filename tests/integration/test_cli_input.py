"""Every option and argument of every command takes nonsense without a traceback.

Whatever is typed, the answer is a result, a usage error, or a sentence of the cluster. Commands are
found as `quorate` finds them, those of plugins included: a new one is tried without being named.
"""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import pytest
from quorate.cli import installed as found
from quorate.cli.deferred import DeferredCommand, adopt
from quorate.cli.dev import command as dev
from quorate.cli.dev.development import Development
from quorate.cli.main import HOST_COMMANDS, main
from quorate.node import process
from quorate.observe import logs
from quorate.plugin.discovery import installed
from quorate.testing.cluster import Cluster
from quorate_spark import cli as spark

#: What is no number of anything, and numbers that nobody means.
NUMBERS: Final = ["inf", "nan", "1e-9", "-1", "0", "9" * 10, "9" * 18, "9" * 40, "1e300", ""]
#: The last is a byte that is no UTF-8, as the interpreter hands it over.
TEXTS: Final = ["", "/=\n\x1b[31m", "x" * 70_000, "\udcff"]
#: What is no address of a node, and addresses that nobody listens at.
ENDPOINTS: Final = [*TEXTS[1:], ":", ":0", "h", "[::1", "127.0.0.1:", "::1:x", "::1:99999", ","]
#: What goes on until Ctrl-C, or for seconds.
ENDLESS: Final = {"bench", "status", "top", "watch"}
#: The plugins whose commands show quickly how those of plugins answer.
SHOWN: Final = ("kv", "notebook")
ENOUGH_S: Final = 0.3
#: What a client takes at most to close on a busy machine.
CLOSING_S: Final = 3.0

#: Found once: each command would look for them again.
PLUGINS: Final = found.find()
OF_CORE: Final = [each.name for each in HOST_COMMANDS]

Called = tuple[str, ...]


def commands() -> Iterator[tuple[Called, click.Command]]:
    """Return every command that is no group, and how it is called."""
    declared = PLUGINS.cli_commands().values()
    theirs = [DeferredCommand(each.name, each.help, each.load, asks=True) for _, each in declared]
    for command in (*HOST_COMMANDS, *theirs):
        yield from below((str(command.name),), adopt(command.load(), asks=command.asks))


def below(path: Called, command: click.Command) -> Iterator[tuple[Called, click.Command]]:
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from below((*path, name), each)
    else:
        yield path, command


def is_number(parameter: click.Parameter) -> bool:
    return parameter.type.name.split()[0] in ("integer", "float")


def values_of(parameter: click.Parameter) -> Sequence[str | None]:
    """Return what is tried; None switches a flag on."""
    if getattr(parameter, "is_flag", False):
        return [None]
    return NUMBERS if is_number(parameter) else TEXTS


def sound(parameter: click.Parameter) -> str:
    """Return a value that the parameter takes."""
    kind: Any = parameter.type
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    if is_number(parameter):
        return str(max(1, getattr(kind, "min", None) or 1))
    return __file__ if isinstance(kind, click.Path) and kind.exists else "x"


def line_of(
    path: Called, command: click.Command, tried: click.Parameter, value: str | None, *, whole: bool
) -> list[str]:
    """Return a command line with a value that is tried, and sound ones where there must be some.

    With `whole` all options that have a value stand there: some mean nothing without another.
    """
    options: list[str] = []
    arguments: list[str] = []
    for each in command.params:
        given = value if each is tried else sound(each)
        if isinstance(each, click.Argument):
            arguments.append(str(given))
        elif (
            each is tried
            or each.required
            or getattr(each, "prompt", None)
            or (whole and each in own(command) and not getattr(each, "is_flag", False))
        ):
            name = max(each.opts, key=len)
            options.append(name if given is None else f"{name}={given}")
    return [*path, *options, "--", *arguments]


def own(command: click.Command) -> list[click.Parameter]:
    """Return the parameters of a command but for those that every command has."""
    return [each for each in command.params if each.name not in ("output", "endpoints")]


def is_slow(path: Called) -> bool:
    """Tell whether the command does not end by itself, or is of a plugin that is not `SHOWN`."""
    return not ENDLESS.isdisjoint(path) or path[0] not in (*SHOWN, *OF_CORE)


EVERY: Final = [
    pytest.param(
        path,
        command,
        id="-".join(path),
        marks=[pytest.mark.ci] if is_slow(path) else [],
    )
    for path, command in commands()
    if own(command)
]


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    plugins = [each.name for each in installed() if each.distribution != "quorate"]
    with Cluster(tmp_path_factory.mktemp("asked"), 1, plugins=plugins) as cluster:
        yield cluster.ready().endpoints


@pytest.fixture(autouse=True)
def surroundings(endpoints: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ask that cluster, from an empty directory; start neither nodes nor Spark."""

    def no_spark(*_: object) -> NoReturn:
        raise click.ClickException("Spark is not started here")

    async def no_nodes(_: object) -> None:
        return

    monkeypatch.setenv("QUORATE_ENDPOINTS", endpoints)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(found, "find", lambda: PLUGINS)
    monkeypatch.setattr(spark, "_spark", no_spark)
    monkeypatch.setattr(Development, "run", no_nodes)
    monkeypatch.setattr(dev, "demand_free_ports", lambda _: None)
    monkeypatch.setattr(process, "run", lambda *_: None)
    monkeypatch.setattr(logs, "configure", lambda *_: None)


@contextmanager
def interrupted(line: Sequence[str]) -> Iterator[None]:
    """Press Ctrl-C again and again if the command may have no end: one may come too early."""
    if ENDLESS.isdisjoint(line):
        yield
        return
    ended = threading.Event()

    def press() -> None:
        pause_s = ENOUGH_S
        while not ended.wait(pause_s):
            os.kill(os.getpid(), signal.SIGINT)
            # The next one would end a loop that closes its client, and leave that half closed.
            pause_s = CLOSING_S

    pressing = threading.Thread(target=press)
    # Whoever runs the tests in the background may have them ignore it.
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        pressing.start()
        try:
            yield
        finally:
            ended.set()
            pressing.join()
            signal.signal(signal.SIGINT, kept)


def run(line: Sequence[str]) -> tuple[int, str]:
    """Run a command, and return its exit code and its complaints, or else its answer."""
    # As the interpreter has them: only standard error takes what cannot be encoded.
    answer = io.BytesIO()
    out = io.TextIOWrapper(answer, "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with redirect_stdout(out), redirect_stderr(err), interrupted(line):
        code = main(line)
    err.seek(0)
    return code, err.read() or answer.getvalue().decode(errors="replace")


def complaints(path: Called, command: click.Command, tried: click.Parameter) -> Iterator[str]:
    """Run the command with each value, and return what is wrong with its answers."""
    for value, whole in [(each, whole) for each in values_of(tried) for whole in (False, True)]:
        if whole and not (is_number(tried) and str(value).isdigit()):
            continue
        shown = f"{tried.name} = {value if value is None else value[:50]!r}"
        try:
            code, said = run(line_of(path, command, tried, value, whole=whole))
        except BaseException as error:  # noqa: BLE001 - it is told with what was typed
            yield f"{shown}: {type(error).__name__}: {error}"
            continue
        if "this is a bug" in said or "Traceback" in said:
            yield f"{shown}: {said[-300:]}"
        elif code and not said:
            yield f"{shown}: exit code {code} without a word"


# Ctrl-C comes anywhere: also where what it breaks off cannot be ended in order.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize(("path", "command"), EVERY)
def test_nonsense_is_answered_with_a_sentence(path: Called, command: click.Command) -> None:
    wrong = [complaint for each in own(command) for complaint in complaints(path, command, each)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("option", ["--config", "--output", "--endpoints"])
@pytest.mark.parametrize("value", TEXTS, ids=range(len(TEXTS)))
def test_nonsense_for_what_every_command_takes(option: str, value: str) -> None:
    code, said = run([f"{option}={value}", "plugin", "list"])

    assert "this is a bug" not in said
    assert (code == 0) != ("error: " in said)


@pytest.mark.parametrize("value", ENDPOINTS, ids=range(len(ENDPOINTS)))
def test_nonsense_for_endpoints(value: str) -> None:
    code, said = run(["kv", "get", "x", f"--endpoints={value}"])

    assert "this is a bug" not in said
    assert code
    assert "error: " in said
