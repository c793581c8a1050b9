"""Two brokers of quorate-amqtt on three nodes: a storm of connects, messages, and a broker's death.

First all clients connect to one broker at once, each with a session that lasts, a subscription
and a will. Then messages are published at that broker, for subscribers there and at the other.
Then the broker is killed, and all clients connect to the other one; each is sent a message by its
subscription. With `--leader` the node that leads their shard is killed meanwhile. `--single` takes
the batches away: each connect and each read is a call of its own.

With `--paho N`, N processes of paho-mqtt publish the messages, in place of our own client.

python benchmarks/mqtt_brokers.py [--clients 2000] [--messages 2000] [--passwords] [--leader]
    [--single] [--paho 0] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from figures import Options, percentiles, report, run, tell
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_amqtt.fields import text_of, varint_of
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.users_pb2 import CreateUserRequest

sys.path.append(str(Path(__file__).parents[1]))

from tests.support.amqtt import TENANT, BrokerProcess, Brokers

PATIENCE_S: Final = 60.0
#: Takes the batches away, in the process of a broker.
SINGLE: Final = (
    "import quorate.client.node_queues as n, quorate_mqtt.client.shared_calls as s, "
    "quorate_mqtt.client.subscriptions as u, quorate_mqtt.client.logins as l\n"
    "n.MOST_COMMANDS = n.FEW_COMMANDS = u.MOST_CLIENTS = l.MOST_LOGINS = 1\n"
    "n.CALLS = s.CALLS = 200\n"
)
CONNECT, CONNACK, PUBLISH, PUBACK, SUBACK = 0x10, 0x20, 0x30, 0x40, 0x90
USER: Final = "fleet"


def packet(head: int, body: bytes) -> bytes:
    """Return a packet."""
    return bytes([head]) + varint_of(len(body)) + body


class Device(asyncio.Protocol):
    """A client of MQTT 3.1.1, as small as it can be."""

    def __init__(self, client_id: str, will: str = "", password: str = "") -> None:
        self.client_id: Final = client_id
        self._will: Final = will
        self._password: Final = password
        self._read = b""
        self.present = False
        self.lost = 0
        self.topics: Counter[str] = Counter()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._transport: asyncio.Transport | None = None
        self.got = asyncio.Event()

    async def connect(self, port: int) -> float:
        """Connect with a session that lasts; returns how long it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", port)
        flags = (0x04 | 0x08 if self._will else 0) | (0xC0 if self._password else 0)
        body = text_of("MQTT") + bytes([4, flags]) + struct.pack("!H", 0) + text_of(self.client_id)
        if self._will:
            body += text_of(self._will) + text_of("gone")
        if self._password:
            body += text_of(USER) + text_of(self._password)
        answer = await self._ask(CONNACK, packet(CONNECT, body))
        if answer[1]:
            raise ConnectionRefusedError(f"{self.client_id}: {answer[1]}")
        self.present = bool(answer[0])
        return loop.time() - began

    async def subscribe(self, topic_filter: str) -> None:
        """Subscribe with quality 1."""
        await self._ask(SUBACK, packet(0x82, b"\0\1" + text_of(topic_filter) + b"\1"))

    async def publish(self, topic: str, payload: bytes, number: int) -> None:
        """Publish with quality 1."""
        await self._ask(
            PUBACK << 16 | number,
            packet(PUBLISH | 2, text_of(topic) + struct.pack("!H", number) + payload),
        )

    def data_received(self, data: bytes) -> None:
        """Take packets apart."""
        self._read += data
        while len(self._read) >= 2:
            size, shift, at = 0, 0, 1
            while at < len(self._read):
                size |= (self._read[at] & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if not self._read[at - 1] & 0x80:
                    break
            else:
                return
            if len(self._read) < at + size:
                return
            self._take(self._read[0], self._read[at : at + size])
            self._read = self._read[at + size :]

    def connection_lost(self, error: Exception | None) -> None:
        """Count it."""
        self.lost += 1
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError(f"{self.client_id} was hung up on"))
        self._waiting.clear()

    def close(self) -> None:
        """Vanish."""
        if self._transport is not None:
            self._transport.abort()

    def _take(self, head: int, body: bytes) -> None:
        kind = head & 0xF0
        if kind != PUBLISH:
            key = kind if kind != PUBACK else PUBACK << 16 | struct.unpack("!H", body[:2])[0]
            waiting = self._waiting.pop(key, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(body)
            return
        size = struct.unpack("!H", body[:2])[0]
        self.topics[body[2 : 2 + size].decode()] += 1
        if head & 0x06:
            assert self._transport is not None
            self._transport.write(packet(PUBACK, body[2 + size : 4 + size]))
        self.got.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that messages change."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self.got.clear()
                await self.got.wait()

    async def _ask(self, answer: int, question: bytes) -> bytes:
        assert self._transport is not None
        waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = waiting
        self._transport.write(question)
        return await waiting


@dataclass(frozen=True)
class Step:
    """What one step took, in all and for each client."""

    step: str
    clients: int
    seconds: float
    each_ms: float = 0.0
    p99_ms: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What must be 0, and how many messages went from one broker to the other."""

    sessions_lost: int
    wills_twice: int
    hung_up: int
    messages_s: float


async def all_of(
    step: str, devices: list[Device], do: Callable[[Device], Awaitable[float | None]]
) -> Step:
    """Do something with all devices at once; returns how long it took all, and each."""
    began = time.monotonic()
    took = await asyncio.gather(*(do(device) for device in devices))
    whole_s = time.monotonic() - began
    each = [value for value in took if value is not None]
    found = Step(step, len(devices), whole_s, *(percentiles(each) if each else ()))
    tell(str(found))
    return found


#: A process of paho-mqtt: port, messages, user and password.
PAHO: Final = """
import sys
from paho.mqtt import client, enums
port, count, user, password = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
paho = client.Client(enums.CallbackAPIVersion.VERSION2, protocol=enums.MQTTProtocolVersion.MQTTv5)
if password:
    paho.username_pw_set(user, password)
paho.connect("127.0.0.1", port)
paho.loop_start()
for sent in [paho.publish("load/a", b"x" * 100, qos=1) for _ in range(count)]:
    sent.wait_for_publish(60)
"""


async def publish_by_paho(
    options: argparse.Namespace, broker: BrokerProcess, password: str
) -> None:
    """Let processes of paho-mqtt publish the messages, and wait until they have."""
    counts = [str(options.messages // options.paho)] * options.paho
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", PAHO, str(broker.port), count, USER, password
        )
        for count in counts
    ]
    assert not any([await process.wait() for process in processes])


async def measure(
    options: argparse.Namespace, cluster: Cluster, one: BrokerProcess, two: BrokerProcess
) -> tuple[list[Step], Outcome]:
    """Carry it out."""
    password = "secret" if options.passwords else ""
    devices = [
        Device(f"device-{number}", f"wills/device-{number}", password)
        for number in range(options.clients)
    ]
    watcher, publisher = Device("watcher", password=password), Device("teller", password=password)
    await watcher.connect(two.port)
    await watcher.subscribe("wills/#")
    await watcher.subscribe("load/#")
    await publisher.connect(one.port)
    steps = [
        await all_of("connect", devices, lambda each: each.connect(one.port)),
        await all_of("subscribe", devices, lambda each: each.subscribe(f"to/{each.client_id}")),
    ]
    expected = options.messages - options.messages % max(1, options.paho)
    began = time.monotonic()
    if options.paho:
        await publish_by_paho(options, one, password)
    for first in range(0, 0 if options.paho else options.messages, 20):
        await asyncio.gather(
            *(publisher.publish("load/a", b"x" * 100, 1 + n) for n in range(first, first + 20))
        )
    await watcher.until(lambda: watcher.topics["load/a"] >= expected)
    messages_s = options.messages / (time.monotonic() - began)

    one.kill()
    publisher.close()
    if options.leader:
        cluster.leader("mqtt/0").kill()
    steps.append(await all_of("reconnect", devices, lambda each: each.connect(two.port)))
    lost = sum(each.lost for each in devices)
    began = time.monotonic()
    await watcher.until(
        lambda: sum(each.startswith("wills/") for each in watcher.topics) == len(devices)
    )
    steps.append(Step("wills", len(devices), time.monotonic() - began))
    await publisher.connect(two.port)

    async def reach(device: Device) -> float:
        began = time.monotonic()
        number = 1 + devices.index(device)
        await publisher.publish(f"to/{device.client_id}", b"back", number)
        await device.until(lambda: device.topics[f"to/{device.client_id}"] > 0)
        return time.monotonic() - began

    steps.append(await all_of("message to each", devices, reach))
    return steps, Outcome(
        sessions_lost=sum(not each.present for each in devices),
        wills_twice=sum(n - 1 for topic, n in watcher.topics.items() if topic[:5] == "wills"),
        hung_up=sum(each.lost for each in devices) - lost + watcher.lost,
        messages_s=messages_s,
    )


def main() -> None:
    """Read the command line, and measure."""
    parser = Options(
        __doc__, clients=2_000, messages=2_000, paho=(0, "processes"), nodes=3, ttl_ms=10_000
    )
    for flag in ("--passwords", "--leader", "--single"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.directory)))
        cluster = stack.enter_context(
            Cluster(directory, nodes=options.nodes, plugins=["mqtt"], forked=False)
        )
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name=TENANT), Tenant)
            user = CreateUserRequest(tenant=TENANT, name=USER, password=b"secret")
            SyncMqtt(q).users.create(user)
        brokers = stack.enter_context(
            Brokers(
                directory,
                cluster.endpoints,
                before=SINGLE if options.single else "",
                ttl_ms=options.ttl_ms,
            )
        )
        one, two = brokers.start("one", "two")
        try:
            steps, outcome = run(measure(options, cluster, one, two))
        except BaseException:
            tell(
                "\n".join(each for each in (one.said + two.said).splitlines() if "refus" in each)[
                    -3_000:
                ]
            )
            raise
    report(steps, [outcome], as_json=options.json)


if __name__ == "__main__":
    main()
