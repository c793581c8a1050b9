"""A broker from its registration to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Final

from quorate.client import AsyncClient, Client, Registration, connect
from quorate_mqtt.client import Mqtt

from quorate_amqtt.broker import QuorateBroker
from quorate_amqtt.config import Settings
from quorate_amqtt.links import ADDRESS, ROLE, incoming

#: How often is looked whether the registration is over.
_LOOK_S: Final = 0.1


async def serve(settings: Settings, say: Callable[[str], None]) -> str:
    """Serve until it must not go on, and return why: another process may serve by then."""
    async with (
        connect(settings.endpoints) as q,
        connect(settings.endpoints, exactly_once=True, timeout_s=settings.timeout_s) as queues,
        serving(settings, q, queues) as (broker, ended),
    ):
        for name, address in broker.addresses.items():
            say(f"{settings.name} serves clients at {address} ({name})")
        return await ended


@asynccontextmanager
async def serving(
    settings: Settings, q: AsyncClient, queues: AsyncClient
) -> AsyncIterator[tuple[QuorateBroker, Awaitable[str]]]:
    """Yield a broker that serves clients, and an awaitable of the reason why it must stop."""
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
        Mqtt(q).following_logins() as logins,
        _registered(settings, address) as registration,
    ):
        broker = QuorateBroker(settings, q, queues, registration.broker, access, logins)
        ready.set_result(broker)
        following = loop.create_task(broker.follow())
        try:
            await _unless_ended(following, broker.ready())
            await broker.start()
            try:
                yield broker, _ended(registration, following)
            finally:
                await broker.shutdown()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


@asynccontextmanager
async def _registered(settings: Settings, address: str) -> AsyncIterator[Registration]:
    """Have the broker registered meanwhile.

    A thread of its own sends the heartbeats: while thousands of clients connect, those of the
    broker's loop would come so late that the cluster holds the broker to be dead.
    """
    with ExitStack() as entered:
        q = entered.enter_context(Client(settings.endpoints))
        registering = q.brokers.registered(
            settings.name,
            settings.cluster,
            roles=[ROLE],
            addresses={ADDRESS: address, "mqtt": settings.listeners["default"].bind},
            ttl_ms=settings.ttl_ms,
        )
        registration = await asyncio.to_thread(registering.__enter__)
        try:
            yield registration
        finally:
            await asyncio.to_thread(registering.__exit__, None, None, None)


async def _ended(registration: Registration, following: asyncio.Task[None]) -> str:
    """Wait until the registration is lost or the cluster cannot be followed; return the reason."""
    while not registration.is_lost:
        await asyncio.wait({following}, timeout=_LOOK_S)
        if following.done():
            return f"it cannot follow the cluster: {following.exception()!r}"
    return "another process has its name, or its heartbeats came too late"


async def _unless_ended(following: asyncio.Task[None], awaited: Awaitable[None]) -> None:
    waiting = asyncio.ensure_future(awaited)
    await asyncio.wait({following, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        waiting.cancel()
        following.result()
