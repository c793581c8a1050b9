"""Starts and ends stock brokers and tools of Kafka, which Maven fetches: small heaps, loopback."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.support import maven

#: The folder of their `pom.xml`.
PROJECT: Final = Path(__file__).parent
_TOOL_S: Final = 240
_SETTINGS: Final = {
    "num.network.threads": 1,
    "num.io.threads": 2,
    "background.threads": 1,
    "log.cleaner.dedupe.buffer.size": 4_194_304,
    "log.segment.bytes": 1_048_576,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
}


class Broker:
    """A broker in ZooKeeper mode; entering the context starts it, leaving it kills it."""

    def __init__(self, directory: Path, number: int, zookeeper: str, **settings: object) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.number: Final = number
        self.address: Final = f"127.0.0.1:{free_ports(0)[0]}"
        self._program: Final = Program(directory.name, directory / "said.log")
        self._file: Final = directory / "server.properties"
        values = {
            "broker.id": number,
            "listeners": f"PLAINTEXT://{self.address}",
            "zookeeper.connect": zookeeper,
            "log.dirs": directory / "logs",
            **_SETTINGS,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self._file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))

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
        """What it wrote, in all its lives."""
        return self._program.said

    def start(self) -> None:
        """Start it, and wait until it serves."""
        ready = f"[KafkaServer id={self.number}] started"
        before = self.said.count(ready)
        self._program.start(java("kafka.Kafka", str(self._file), heap_mb=256), os.environ)

        def started() -> bool | None:
            if not self._program.runs:
                raise AssertionError(f"broker {self.number} ended: {self.said[-3_000:]}")
            return self.said.count(ready) > before or None

        until(started)

    def stop(self) -> int:
        """End it as its operator does, and return its exit code."""
        return self._program.end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self._program.end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop it by SIGSTOP: it holds its connections and does nothing."""
        self._program.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._program.send_signal(signal.SIGCONT)


def topics(brokers: str, *arguments: str) -> str:
    """Run the tool for topics, and return what it printed."""
    return tool("org.apache.kafka.tools.TopicCommand", brokers, *arguments)


def produce(brokers: str, topic: str, lines: list[str]) -> None:
    """Send messages, each of which is acknowledged."""
    tool("kafka.tools.ConsoleProducer", brokers, "--topic", topic, text="\n".join(lines) + "\n")


def consume(brokers: str, topic: str, count: int) -> list[str]:
    """Return the first messages of a topic."""
    main = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    arguments = ("--from-beginning", "--max-messages", str(count), "--timeout-ms", "60000")
    return tool(main, brokers, "--topic", topic, *arguments).splitlines()


def tool(main: str, brokers: str, *arguments: str, text: str | None = None) -> str:
    """Run a tool of Kafka, and return what it printed."""
    command = java(main, "--bootstrap-server", brokers, *arguments, heap_mb=128)
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=_TOOL_S, check=False
    )
    assert done.returncode == 0, f"{main}: {done.stdout[-2_000:]}{done.stderr[-2_000:]}"
    return done.stdout


def java(main: str, *arguments: str, heap_mb: int) -> list[str]:
    """Return the command that runs a program of the class path."""
    log = f"-Dlog4j.configuration=file:{PROJECT / 'log4j.properties'}"
    return maven.java(PROJECT, log, main, *arguments, heap_mb=heap_mb)
