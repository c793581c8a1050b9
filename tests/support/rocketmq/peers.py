"""Peers of the door that speak RocketMQ's protocol, and doors on nodes in memory."""

from __future__ import annotations

import asyncio
import json
import ssl
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_name_server.remoting.frames import frame
from quorate_name_server.remoting.java_json import loads

PUT, GET, DELETE, KV_LIST = 100, 101, 102, 219
REGISTER, UNREGISTER, ROUTE, CLUSTERS = 103, 104, 105, 106
WIPE, ADD, ALL_TOPICS = 205, 327, 206
DELETE_TOPIC, REGISTER_TOPIC, OF_CLUSTER, SYSTEM = 216, 217, 224, 304
UNITS, SUBSCRIPTIONS, NO_UNIT = 311, 312, 313
UPDATE, PROPERTIES, DATA_VERSION, MEMBERS, HEARTBEAT = 318, 319, 322, 901, 904

# Of a controller, where a heartbeat has the same code.
ALTER, ELECT, REGISTER_REPLICA, REPLICA_INFO, METADATA = 1001, 1002, 1003, 1004, 1005
IN_SYNC, ROLE_CHANGED, UPDATE_CONTROLLER, CONTROLLER_PROPERTIES = 1006, 1008, 1009, 1010
CLEAN, NEXT_ID, APPLY_ID = 1011, 1012, 1013

VERSION = {"counter": 1, "stateVersion": 0, "timestamp": 1_795_366_419_098}


@dataclass
class Answer:
    """What a request was answered with."""

    header: dict[str, Any]
    body: bytes

    @property
    def code(self) -> int:
        """Its code."""
        return int(self.header["code"])

    @property
    def fields(self) -> dict[str, str]:
        """Its fields."""
        found: dict[str, str] = self.header.get("extFields", {})
        return found

    @property
    def json(self) -> Any:
        """What its body says."""
        return loads(self.body)


@dataclass
class Peer:
    """A connection to the door."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    opaque: int = 0

    async def ask(
        self, code: int, body: bytes = b"", *, version: int = 479, **fields: Any
    ) -> Answer:
        """Send a request and return its answer."""
        self.send(code, body, version=version, **fields)
        answer = await self.answer()
        assert answer.header["opaque"] == self.opaque
        return answer

    def send(
        self, code: int, body: bytes = b"", *, version: int = 479, flag: int = 0, **fields: Any
    ) -> None:
        """Send a request."""
        self.opaque += 1
        header = {
            "code": code,
            "extFields": {key: str(value) for key, value in fields.items()},
            "flag": flag,
            "language": "JAVA",
            "opaque": self.opaque,
            "version": version,
        }
        self.writer.write(frame(json.dumps(header).encode(), body))

    async def answer(self) -> Answer:
        """Return the next answer."""
        length = int.from_bytes(await self.reader.readexactly(4), "big")
        rest = await self.reader.readexactly(length)
        end = 4 + int.from_bytes(rest[1:4], "big")
        return Answer(json.loads(rest[4:end]), rest[end:])

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        await self.writer.wait_closed()


@dataclass
class Doors:
    """A node in memory that serves RocketMQ's protocol, and connections to it."""

    node: MemoryNode
    port: int
    peers: list[Peer] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, tls: ssl.SSLContext | None = None, **settings: object
    ) -> AsyncIterator[Doors]:
        """Open a door with settings of the plugin, on a node that encrypts, or does not."""
        [port] = free_ports(0)
        section = {"remoting_port": port, **settings}
        sections = {"name_server": section}
        async with MemoryNode(["name_server"], config=sections, tls=tls) as node:
            doors = cls(node, port)
            try:
                yield doors
            finally:
                for peer in doors.peers:
                    # One may have sent what nobody reads.
                    peer.writer.transport.abort()
                    with suppress(OSError):
                        await peer.writer.wait_closed()

    async def connect(self, **options: Any) -> Peer:
        """Open a connection."""
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port, **options))
        self.peers.append(peer)
        return peer


def topic(name: str, perm: int = 6, flags: int = 0) -> dict[str, Any]:
    """Return a topic as a registration has it."""
    return {
        "topicName": name,
        "perm": perm,
        "readQueueNums": 4,
        "writeQueueNums": 4,
        "topicSysFlag": flags,
    }


def body(*topics: dict[str, Any], **version: int) -> bytes:
    """Return the body of a registration."""
    wrapper = {
        "dataVersion": VERSION | version,
        "topicConfigTable": {each["topicName"]: each for each in topics},
    }
    whole = {"filterServerList": [], "topicConfigSerializeWrapper": wrapper}
    return json.dumps(whole).encode()


TOPICS = body(topic("T1"), topic("TBW102", 7))


async def register(
    peer: Peer,
    said: bytes = TOPICS,
    broker: str = "broker-a",
    member: int = 0,
    address: str = "10.0.0.1:10911",
    **fields: Any,
) -> Answer:
    """Register a member of a broker."""
    return await peer.ask(
        REGISTER,
        said,
        brokerName=broker,
        brokerId=member,
        brokerAddr=address,
        clusterName="C1",
        haServerAddr=address.replace("911", "912"),
        **{"enableActingMaster": "false", "bodyCrc32": zlib.crc32(said) & 0x7FFFFFFF, **fields},
    )
