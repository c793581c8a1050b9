"""kazoo and its recipes, as they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, RolledBackError

from tests.support.beside import beside
from tests.support.zookeeper.peers import Door


async def play(door: Door, clients: int, game: Callable[..., None]) -> None:
    """Run something with clients of kazoo, which has threads of its own."""

    def playing() -> None:
        opened = [KazooClient(f"127.0.0.1:{door.port}") for _ in range(clients)]
        try:
            for client in opened:
                client.start(timeout=20)
            game(*opened)
        finally:
            for client in opened:
                client.stop()
                client.close()

    async with asyncio.timeout(60):
        await asyncio.to_thread(playing)


async def test_transactions_and_versions(door: Door) -> None:
    def game(client: KazooClient) -> None:
        client.create("/a", b"1")
        failing = client.transaction()
        failing.create("/b")
        failing.check("/a", 5)
        assert list(map(type, failing.commit())) == [RolledBackError, BadVersionError]
        going = client.transaction()
        going.create("/b", b"2")
        going.set_data("/a", b"3", version=0)
        path, stat = going.commit()
        assert (path, stat.version) == ("/b", 1)
        assert stat.mzxid == client.exists("/b").czxid
        assert client.server_version() >= (3, 9)

    await play(door, 1, game)


async def test_locks_are_taken_in_turn(door: Door) -> None:
    held: list[int] = []

    def game(*clients: KazooClient) -> None:
        def work(number: int, over: threading.Event) -> None:
            for _ in range(5):
                with clients[number].Lock("/locks/jobs", str(number)):
                    held.append(number)
                    assert len(held) == 1
                    held.clear()

        with beside(*(partial(work, number) for number in range(len(clients)))):
            pass
        assert not clients[0].Lock("/locks/jobs").contenders()

    await play(door, 3, game)


async def test_elections_counters_queues_and_barriers(door: Door) -> None:
    def game(one: KazooClient, two: KazooClient) -> None:
        led: list[str] = []
        one.Election("/election", "one").run(led.append, "one")
        two.Election("/election", "two").run(led.append, "two")
        assert led == ["one", "two"]
        for client in (one, two):
            counter = client.Counter("/counter")
            counter += 3
        assert one.Counter("/counter").value == 6
        for value in (b"a", b"b"):
            one.Queue("/queue").put(value)
        assert [two.Queue("/queue").get(), one.Queue("/queue").get()] == [b"a", b"b"]
        barrier = one.Barrier("/barrier")
        barrier.create()
        assert not two.Barrier("/barrier").wait(0.05)
        barrier.remove()
        assert two.Barrier("/barrier").wait(5)

    await play(door, 2, game)


async def test_watchers_follow_data_and_children(door: Door) -> None:
    def game(one: KazooClient, two: KazooClient) -> None:
        data: list[bytes | None] = []
        children: list[list[str]] = []
        seen = threading.Condition()

        def until(found: Callable[[], bool]) -> None:
            with seen:
                assert seen.wait_for(found, 20)

        @one.DataWatch("/w")  # type: ignore[untyped-decorator, unused-ignore]
        def _(value: bytes | None, _: object) -> None:
            with seen:
                data.append(value)
                seen.notify()

        two.create("/w", b"0")
        until(lambda: data == [None, b"0"])
        two.set("/w", b"1")
        until(lambda: data == [None, b"0", b"1"])

        @one.ChildrenWatch("/w")  # type: ignore[untyped-decorator, unused-ignore]
        def _(names: list[str]) -> None:
            with seen:
                children.append(sorted(names))
                seen.notify()

        two.create("/w/a")
        two.create("/w/b")
        until(lambda: children[-1] == ["a", "b"])

    await play(door, 2, game)
