"""Brokers of quorate-amqtt as processes, and clients of MQTT that are not ours."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import yaml
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions
from quorate.testing.waiting import PATIENCE_S, until

TENANT: Final = "acme"
#: So long a broker that is killed is held to be alive.
TTL_MS: Final = 2_000
_MAIN: Final = "from quorate_amqtt.cli import main; main()"


class BrokerProcess:
    """A broker of its own process."""

    def __init__(
        self, directory: Path, name: str, settings: Mapping[str, Any], before: str = ""
    ) -> None:
        self.name: Final = name
        self._log: Final = directory / f"{name}.log"
        file = directory / f"{name}.yaml"
        file.write_text(yaml.safe_dump({"name": name, **settings}))
        with self._log.open("ab") as log:
            self._process: Final = subprocess.Popen(
                [sys.executable, "-c", before + _MAIN, "--config", str(file), "--verbose"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._listeners: Final = len(settings["listeners"])
        self._ports: Final[dict[str, int]] = {}

    @property
    def port(self) -> int:
        """Where its default listener is; waits until it is there."""
        return self.ports["default"]

    @property
    def ports(self) -> Mapping[str, int]:
        """Where it listens, by the names of the listeners; waits until it does."""
        while len(self._ports) < self._listeners:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"{self.name} did not start: {self.said}")
            *_, address, name = line.split()
            self._ports[name.strip("()")] = int(address.rpartition(":")[2])
        return self._ports

    @property
    def said(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end, and return its status."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Brokers:
    """Brokers of one tenant; all end with the context. `before` runs in each before it starts."""

    def __init__(
        self, directory: Path, endpoints: str, *, before: str = "", **settings: Any
    ) -> None:
        self._before: Final = before
        self._directory: Final = directory
        self._settings: Final = {
            "tenant": TENANT,
            "endpoints": endpoints,
            "anonymous": True,
            "allow_unmatched": True,
            "ttl_ms": TTL_MS,
            "listeners": {"default": {"bind": "127.0.0.1:0"}},
            **settings,
        }
        self._started: Final[list[BrokerProcess]] = []
        self._exit: Final = ExitStack()

    def start(self, *names: str, **settings: Any) -> list[BrokerProcess]:
        """Start brokers side by side, and wait until they serve."""
        started = [
            BrokerProcess(self._directory, name, {**self._settings, **settings}, self._before)
            for name in names
        ]
        for broker in started:
            self._exit.callback(broker.kill)
        for broker in started:
            assert broker.port
        return started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit.close()


class Device:
    """A client of paho-mqtt: connected in the context, and gone without a word at its end."""

    def __init__(
        self,
        broker: BrokerProcess,
        client_id: str,
        *,
        clean: bool = True,
        username: str = "",
        password: str = "",
        will: tuple[str, bytes] | None = None,
        retain_will: bool = False,
        will_properties: Properties | None = None,
        clean_start: bool = False,
        connect: Mapping[str, Any] | None = None,
        version: MQTTProtocolVersion = MQTTProtocolVersion.MQTTv311,
        transport: Literal["tcp", "websockets"] = "tcp",
        authority: Path | None = None,
        listener: str = "default",
    ) -> None:
        self._port: Final = broker.ports[listener]
        self._five: Final = version is MQTTProtocolVersion.MQTTv5
        self._clean_start: Final = clean_start
        self._connect: Final = connect or {}
        clean_session = None if self._five else clean
        self.paho: Final = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=clean_session,
            protocol=version,
            reconnect_on_failure=False,
            transport=transport,
        )
        if authority is not None:
            self.paho.tls_set(str(authority))
        if username:
            self.paho.username_pw_set(username, password)
        if will is not None:
            self.paho.will_set(
                will[0], will[1], qos=1, retain=retain_will, properties=will_properties
            )
        self._messages: Final[queue.Queue[paho.MQTTMessage]] = queue.Queue()
        self._answers: Final[queue.Queue[Any]] = queue.Queue()
        self._ended: Final = threading.Event()
        self.paho.on_message = lambda _, __, message: self._messages.put(message)
        self.paho.on_connect = lambda _, __, *answer: self._answers.put(answer)
        self.paho.on_subscribe = lambda _, __, ___, codes, ____: self._answers.put(codes)
        self.paho.on_unsubscribe = lambda _, __, ___, codes, ____: self._answers.put(codes)
        self.paho.on_publish = lambda _, __, number, code, ___: self._published.put((number, code))
        self._published: Final[queue.Queue[tuple[int, Any]]] = queue.Queue()
        self.paho.on_disconnect = self._on_disconnect
        self._farewell: Any = None
        #: The code of CONNACK, whether the session went on, and the properties of MQTT 5.
        self.refused = ""
        self.session_present = False
        self.told: Any = None

    def connect(self) -> Self:
        """Connect, and wait for what the broker says."""
        options: dict[str, Any] = {}
        if self._five:
            properties = properties_of(PacketTypes.CONNECT, **self._connect)
            options = {"clean_start": self._clean_start, "properties": properties}
        self.paho.connect("127.0.0.1", self._port, keepalive=30, **options)
        self.paho.loop_start()
        flags, code, self.told = self._answers.get(timeout=PATIENCE_S)
        self.session_present = flags.session_present
        self.refused = str(code) if code.is_failure else ""
        return self

    def subscribe(
        self,
        *filters: str,
        qos: int = 1,
        options: SubscribeOptions | None = None,
        identifier: int = 0,
    ) -> list[int]:
        """Subscribe, and return what the broker says of each filter."""
        wanted: Any = qos
        properties = None
        if self._five:
            wanted = options or SubscribeOptions(qos=qos)
        if identifier:
            properties = properties_of(PacketTypes.SUBSCRIBE, SubscriptionIdentifier=identifier)
        self.paho.subscribe([(each, wanted) for each in filters], properties=properties)
        return [code.value for code in self._answers.get(timeout=PATIENCE_S)]

    def unsubscribe(self, *filters: str) -> list[int]:
        """Unsubscribe, and return what the broker says of each filter."""
        self.paho.unsubscribe(list(filters))
        return [code.value for code in self._answers.get(timeout=PATIENCE_S)]

    def publish(
        self,
        topic: str,
        payload: bytes | str,
        *,
        qos: int = 1,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """Publish, wait for the acknowledgement, and return its code."""
        sent = self.paho.publish(topic, payload, qos=qos, retain=retain, properties=properties)
        while True:
            number, code = self._published.get(timeout=PATIENCE_S)
            if number == sent.mid:
                return int(code.value)

    def message(self) -> tuple[str, bytes]:
        """Return the next message: its topic and its payload."""
        message = self._messages.get(timeout=PATIENCE_S)
        return message.topic, bytes(message.payload)

    def whole_message(self) -> Any:
        """Return the next message of paho with its flags and its properties."""
        return self._messages.get(timeout=PATIENCE_S)

    def messages_before(self, topic: str) -> list[tuple[str, bytes]]:
        """Return the messages that came before one of a topic."""
        found = []
        while (message := self.message())[0] != topic:
            found.append(message)
        return found

    def rest(self) -> list[tuple[str, bytes]]:
        """Return the messages that have come and were not asked for."""
        found = []
        while self.has_message:
            found.append(self.message())
        return found

    @property
    def has_message(self) -> bool:
        """Whether there is a message that was not asked for."""
        return not self._messages.empty()

    def farewell(self) -> int:
        """Wait until the broker has ended the connection, and return why, as MQTT 5 says it."""
        self.hung_up()
        return int(self._farewell.value)

    def _on_disconnect(self, _: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        self._farewell = reason
        self._ended.set()

    def hung_up(self) -> None:
        """Wait until the broker has ended the connection."""
        assert self._ended.wait(PATIENCE_S), "the broker keeps the connection"

    @property
    def is_connected(self) -> bool:
        """Whether the connection stands."""
        return not self._ended.is_set()

    def disconnect(self) -> None:
        """Take leave."""
        self.paho.disconnect()
        self._ended.wait(PATIENCE_S)
        self.paho.loop_stop()

    def vanish(self) -> None:
        """Lose the network connection."""
        self.paho.on_disconnect = None
        sock = self.paho.socket()
        if isinstance(sock, socket.socket) and sock.fileno() >= 0:
            sock.shutdown(socket.SHUT_RDWR)
        self.paho.loop_stop()
        # It leaves the pair of sockets that wakes its thread to the collector of garbage.
        self.paho._reset_sockets()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.vanish()


def properties_of(packet: int, **values: Any) -> Any:
    """Return properties of a packet of MQTT 5."""
    properties: Any = Properties(packet)  # type: ignore[no-untyped-call]
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def mosquitto(tool: str, broker: BrokerProcess, *options: str) -> list[str]:
    """Return the command line of `mosquitto_pub` or `mosquitto_sub` for a broker."""
    return [tool, "-h", "127.0.0.1", "-p", str(broker.port), *options]


def no_mosquitto() -> str:
    """Return why mosquitto's clients cannot be run; empty where they can."""
    found = any(
        os.access(Path(folder) / "mosquitto_pub", os.X_OK)
        for folder in os.environ.get("PATH", "").split(os.pathsep)
    )
    return (
        "" if found else "needs mosquitto_pub and mosquitto_sub: apt-get install mosquitto-clients"
    )


__all__ = [
    "TENANT",
    "BrokerProcess",
    "Brokers",
    "Device",
    "mosquitto",
    "no_mosquitto",
    "properties_of",
    "until",
]
