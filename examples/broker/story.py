"""A broker's life: two brokers share clients, one is killed, and the other takes its clients over.

Run it beside a cluster that has the plugin mqtt enabled: `quorate dev`, then `python story.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

from quorate.client import AsyncClient, RejectedError, connect
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1 import acl_rules_pb2 as acl
from quorate_mqtt.v1.acl_rules_pb2 import AclRule

PROGRAM: Final = Path(__file__).with_name("broker.py")
#: Time for which a lost broker counts as alive; a short time makes a short story.
TTL_MS: Final = 3_000

#: A line of JSON.
Line = dict[str, Any]


class Device:
    """A client: one connection to one broker."""

    def __init__(
        self, client_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.client_id: Final = client_id
        self._reader: Final = reader
        self._writer: Final = writer
        #: Messages that came while something else was waited for.
        self._messages: Final[list[Line]] = []

    async def ask(self, do: str, **what: object) -> Line:
        """Send a request to the broker, and return its answer."""
        line = await self._answer(do, what)
        if "refused" in line:
            raise RuntimeError(f"{self.client_id} is refused to {do}: {line['why']}")
        return line

    async def refused(self, do: str, **what: object) -> str:
        """Send a request that the broker must refuse, and return the reason."""
        why: str = (await self._answer(do, what))["why"]
        return why

    async def message(self) -> tuple[str, str]:
        """Wait for a message, and return its topic and payload."""
        line = (
            self._messages.pop(0)
            if self._messages
            else await self._line(lambda line: "topic" in line and "done" not in line)
        )
        return line["topic"], line["payload"]

    async def hung_up(self) -> None:
        """Wait until the broker has ended the connection."""
        while await self._reader.readline():
            continue

    async def close(self) -> None:
        """End the connection without taking leave."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _answer(self, do: str, what: Line) -> Line:
        self._writer.write(json.dumps({"do": do, **what}).encode() + b"\n")
        return await self._line(lambda line: do in (line.get("done"), line.get("refused")))

    async def _line(self, wanted: Callable[[Line], bool]) -> Line:
        while True:
            read = await self._reader.readline()
            if not read:
                raise ConnectionError(f"the broker has hung up on {self.client_id}")
            line: Line = json.loads(read)
            if wanted(line):
                return line
            self._messages.append(line)


async def tell(endpoints: str | None, say: Callable[[str], None]) -> None:
    """Run the story, and report each event."""
    async with connect(endpoints) as q, AsyncExitStack() as ended:

        async def reach(address: str, client_id: str) -> Device:
            host, _, port = address.rpartition(":")
            device = Device(client_id, *await asyncio.open_connection(host, int(port)))
            ended.push_async_callback(device.close)
            return device

        await prepare(q)
        first = await start(endpoints, "north-1", ended)
        await start(endpoints, "north-2", ended)
        at_first, at_second = await address_of(q, "north-1"), await address_of(q, "north-2")

        lamp = await reach(at_first, "lamp")
        await lamp.ask("connect", client_id="lamp", will_topic="lamps/lamp", will="lost")
        await lamp.ask("subscribe", filter="commands/lamp")
        await lamp.ask("publish", topic="lamps/lamp", payload="on", retain=True)
        ann = await reach(at_second, "ann")
        await ann.ask("connect", client_id="ann")
        await ann.ask("subscribe", filter="lamps/#")
        say("retained: ann receives %s=%s" % await ann.message())
        say(f"denied: {await ann.refused('publish', topic='secret/door', payload='open')}")

        workers = {}
        for name, address in (("worker-1", at_first), ("worker-2", at_second)):
            workers[name] = await reach(address, name)
            await workers[name].ask("connect", client_id=name)
            await workers[name].ask("subscribe", filter="$share/crew/jobs/#")
        for device in (lamp, ann):
            await crew_of(device, members=2)
        for number in range(4):
            await lamp.ask("publish", topic="jobs/new", payload=f"job {number}")
        done = sorted([await worker.message() for worker in workers.values() for _ in range(2)])
        say(f"shared: the crew does {', '.join(payload for _, payload in done)}, each once")

        moved = await reach(at_second, "lamp")
        told = await moved.ask("connect", client_id="lamp", will_topic="lamps/lamp", will="lost")
        await lamp.hung_up()
        say(f"taken over: north-2 has the lamp with {', '.join(told['filters'])}")
        lamp = await reach(at_first, "lamp")
        await lamp.ask("connect", client_id="lamp", will_topic="lamps/lamp", will="lost")
        await moved.hung_up()

        first.kill()
        await first.wait()
        say("north-1 is killed")
        say("will: ann receives %s=%s" % await ann.message())
        await crew_of(ann, members=1, leader=(await broker(q, "north-2")).epoch)
        worker = await reach(at_second, "worker-1")
        told = await worker.ask("connect", client_id="worker-1")
        say(f"back: worker-1 has {', '.join(told['filters'])} at north-2")
        await crew_of(ann, members=2)
        for number in range(2):
            await ann.ask("publish", topic="jobs/new", payload=f"job {number}")
        done = sorted([await worker.message(), await workers["worker-2"].message()])
        say(f"shared: the crew does {', '.join(payload for _, payload in done)}, each once")
        lamp = await reach(at_second, "lamp")
        told = await lamp.ask("connect", client_id="lamp")
        await ann.ask("publish", topic="commands/lamp", payload="off")
        say("back: the lamp receives %s=%s" % await lamp.message())
        await lamp.ask("disconnect")


async def prepare(q: AsyncClient) -> None:
    """Make the tenant, and the one rule that it has."""
    rule = AclRule(
        tenant="home",
        name="nobody-opens-the-door",
        subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
        subject="*",
        topic="secret/#",
        action=acl.ACL_ACTION_PUBLISH,
        permission=acl.ACL_PERMISSION_DENY,
    )
    for made in (q.execute(CreateTenant(name="home"), Tenant), Mqtt(q).acl_rules.create(rule)):
        try:
            await made
        except RejectedError as error:
            if error.code != "ALREADY_EXISTS":
                raise


async def start(
    endpoints: str | None, name: str, ended: AsyncExitStack
) -> asyncio.subprocess.Process:
    """Start a broker, which ends with the story, and wait until it serves."""
    where = ["--endpoints", endpoints] if endpoints else []
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAM),
        name,
        "--ttl-ms",
        str(TTL_MS),
        *where,
        stdout=asyncio.subprocess.PIPE,
    )
    ended.push_async_callback(stop, process)
    assert process.stdout is not None
    if not await process.stdout.readline():
        raise RuntimeError(f"{name} has ended before it served; its output says why")
    return process


async def stop(process: asyncio.subprocess.Process) -> None:
    """End a broker, if it has not ended."""
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def broker(q: AsyncClient, name: str) -> Any:
    """Return the registration of a broker."""
    found = await q.brokers.get(name)
    if found is None:
        raise RuntimeError(f"{name} is not registered")
    return found


async def address_of(q: AsyncClient, name: str) -> str:
    """Return where a broker listens for clients."""
    address: str = (await broker(q, name)).addresses["clients"]
    return address


async def crew_of(device: Device, *, members: int, leader: int = 0) -> None:
    """Wait until a device's broker knows that many members of the crew, and its leader."""
    while True:
        seen = await device.ask("look")
        leaders = seen["leaders"].values()
        if seen["members"] == members and (not leader or list(leaders) == [leader]):
            return
        await asyncio.sleep(0.01)


def main() -> None:
    """Read the command line, and tell the story."""
    parser = argparse.ArgumentParser(description="Two brokers, one of which is killed.")
    parser.add_argument("--endpoints", default=None, help="host:port,... of the cluster")
    asyncio.run(tell(parser.parse_args().endpoints, print))


if __name__ == "__main__":
    main()
