"""A broker from its registration to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from quorate.client import AsyncClient, Registration, RejectedError, connect
from quorate_mqtt.client import Mqtt

from quorate_amqtt.broker import QuorateBroker
from quorate_amqtt.config import Settings
from quorate_amqtt.links import ADDRESS, ROLE, incoming


async def serve(settings: Settings, say: Callable[[str], None]) -> RejectedError:
    """Serve until the registration is over, and return why: another process may serve by then."""
    async with connect(settings.endpoints) as q, serving(settings, q) as (broker, registration):
        for name, address in broker.addresses.items():
            say(f"{settings.name} serves clients at {address} ({name})")
        return await registration.lost()


@asynccontextmanager
async def serving(
    settings: Settings, q: AsyncClient
) -> AsyncIterator[tuple[QuorateBroker, Registration]]:
    """Have a broker that serves clients meanwhile."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[QuorateBroker] = loop.create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (await asyncio.shield(ready)).links.accept(reader, writer)

    host, _, port = settings.peers.bind.rpartition(":")
    peers = await asyncio.start_server(
        accept, host.strip("[]"), int(port), ssl=incoming(settings.peers)
    )
    bound = peers.sockets[0].getsockname()
    address = settings.peers.advertise or f"{host}:{bound[1]}"
    async with (
        peers,
        Mqtt(q).following_access(allow_unmatched=settings.allow_unmatched) as access,
        q.brokers.registered(
            settings.name,
            settings.cluster,
            roles=[ROLE],
            addresses={ADDRESS: address, "mqtt": settings.listeners["default"].bind},
            ttl_ms=settings.ttl_ms,
        ) as registration,
    ):
        broker = QuorateBroker(settings, q, registration.broker, access)
        ready.set_result(broker)
        following = loop.create_task(broker.follow())
        try:
            await _unless_ended(following, broker.links.linked())
            await _unless_ended(following, broker.retained.known())
            await broker.start()
            try:
                yield broker, registration
            finally:
                await broker.shutdown()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _unless_ended(following: asyncio.Task[None], awaited: object) -> None:
    waiting = asyncio.ensure_future(awaited)  # type: ignore[call-overload]
    await asyncio.wait({following, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        waiting.cancel()
        following.result()
