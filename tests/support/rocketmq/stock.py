"""Starts and ends the stock parts of RocketMQ, which Maven fetches: small heaps, loopback alone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.support import maven

_HERE: Final = Path(__file__).parent
_JVM: Final = (
    "-Xms32m",
    "-XX:MaxDirectMemorySize=64m",
    "-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99",
    "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
    f"-Drmq.logback.configurationFile={_HERE / 'logback.xml'}",
)
#: Ends what one command of the tools prints.
_END: Final = "\x04"


def missing() -> str:
    """Return why the stock parts cannot run here; empty when they can."""
    return maven.missing(_HERE)


class Part:
    """One Java process, in a directory of its own, which is also its home."""

    def __init__(
        self, directory: Path, main: str, *arguments: str, ready: str, heap_mb: int = 128
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory: Final = directory
        self._program: Final = Program(directory.name, directory / "said.log")
        self._command: Final = _java(directory, main, *arguments, heap_mb=heap_mb)
        self._ready: Final = ready

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.close()

    @property
    def said(self) -> str:
        """What it wrote to its standard output and error, in all its lives."""
        return self._program.said

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._program.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._program.runs

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        before = self.said.count(self._ready)
        self._program.start(self._command, {**os.environ, "ROCKETMQ_HOME": str(self.directory)})

        def ready() -> bool | None:
            if not self.runs:
                raise AssertionError(f"{self.directory.name} ended: {self.said[-2_000:]}")
            return self.said.count(self._ready) > before or None

        until(ready)

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self._program.end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop its clockwork by SIGSTOP: it holds its connections and does nothing."""
        self._program.send_signal(signal.SIGSTOP)


def name_server(directory: Path, *, heap_mb: int = 128, **settings: object) -> tuple[Part, str]:
    """Return a stock name server, and its address."""
    [port] = free_ports(0)
    file = _properties(
        directory,
        {
            "bindAddress": "127.0.0.1",
            "listenPort": port,
            "kvConfigPath": directory / "kvConfig.json",
            **settings,
        },
    )
    part = Part(
        directory,
        "org.apache.rocketmq.namesrv.NamesrvStartup",
        "-c",
        str(file),
        ready="boot success",
        heap_mb=heap_mb,
    )
    return part, f"127.0.0.1:{port}"


def broker(directory: Path, name_servers: str, **settings: object) -> tuple[Part, str]:
    """Return a stock broker that registers with these name servers, and its address.

    A setting that is None is left out.
    """
    # Beside its own port it listens two below and one above.
    port = free_ports(0, -2, 1)[0]
    file = _properties(
        directory,
        {
            "brokerClusterName": "C1",
            "brokerName": "broker-a",
            "brokerId": 0,
            "brokerRole": "ASYNC_MASTER",
            "flushDiskType": "ASYNC_FLUSH",
            "namesrvAddr": name_servers.replace(",", ";"),
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "bindAddress": "127.0.0.1",
            "listenPort": port,
            "storePathRootDir": directory / "store",
            "mappedFileSizeCommitLog": 16_777_216,
            "mappedFileSizeConsumeQueue": 120_000,
            "maxHashSlotNum": 1_000,
            "maxIndexNum": 4_000,
            "diskMaxUsedSpaceRatio": 95,
            **settings,
        },
    )
    part = Part(
        directory, "org.apache.rocketmq.broker.BrokerStartup", "-c", str(file), ready="boot success"
    )
    return part, f"127.0.0.1:{port}"


def traffic(directory: Path, name_servers: str, topic: str, messages: int, *group: str) -> Part:
    """Return a producer and a consumer that move messages; `Traffic.java` tells what they say.

    With a group of consumers, there is the consumer alone.
    """
    arguments = (name_servers.replace(",", ";"), topic, str(messages), *group)
    return Part(directory, str(_HERE / "Traffic.java"), *arguments, ready="traffic ready")


class Admin:
    """The stock tools `mqadmin`, in one JVM for many commands."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._command: Final = _java(directory, str(_HERE / "Admin.java"))
        self._environment: Final = {**os.environ, "ROCKETMQ_HOME": str(directory)}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._until("admin ready")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def run(self, name_servers: str, command: str, *arguments: str) -> str:
        """Run one command and return what it printed; its exit code says nothing."""
        assert self._process.stdin is not None
        words: Sequence[str] = (command, *arguments, "-n", name_servers.replace(",", ";"))
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        return self._until(_END)

    def _until(self, end: str) -> str:
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            if line.rstrip("\n") == end:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"mqadmin ended: {''.join(lines)[-2_000:]}")


def _java(home: Path, *arguments: str, heap_mb: int = 128) -> Sequence[str]:
    return maven.java(_HERE, *_JVM, f"-Duser.home={home}", *arguments, heap_mb=heap_mb)


def _properties(directory: Path, settings: Mapping[str, object]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "part.properties"
    lines = (f"{key}={value}\n" for key, value in settings.items() if value is not None)
    file.write_text("".join(lines))
    return file
