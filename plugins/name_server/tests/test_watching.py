from collections.abc import AsyncIterator

import pytest
from quorate.plugin import Rejected
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

from plugins.name_server.tests.memory import Names, Node, registration, topics, version


def watch(names: Names, *topics: str) -> AsyncIterator[answers.Routes]:
    return names.service.WatchRoutes(answers.WatchRoutesRequest(topics=topics), None)


def perms(routes: answers.Routes) -> dict[str, dict[str, int]]:
    return {
        route.topic: {each.broker: each.queues.perm for each in route.queues}
        for route in routes.routes
    }


async def test_routes_come_at_first_and_as_they_change(names: Names, node: Node) -> None:
    await names.register(registration())
    watched = watch(names, "orders", "none")

    assert perms(await anext(watched)) == {"orders": {"broker-a": 6}, "none": {}}

    # What concerns other topics, or a data version alone, is not sent.
    await names.register(registration(data_version=version(2), topics=topics("bills", "more")))
    await names.do(pb.WipeWritePermission(names=["broker-a"]))
    assert perms(await anext(watched)) == {"orders": {"broker-a": 4}}

    await node.advance(120_000)
    assert perms(await anext(watched)) == {"orders": {}}

    await names.register(registration(topics=topics("orders", "none")))
    found: dict[str, dict[str, int]] = {}
    while len(found) < 2:
        found |= perms(await anext(watched))
    assert found == {"orders": {"broker-a": 6}, "none": {"broker-a": 6}}


async def test_a_watch_that_ends_leaves_nothing(names: Names, node: Node) -> None:
    watched = watch(names, "orders", "orders", "bills")
    await anext(watched)
    await watched.aclose()  # type: ignore[attr-defined]
    assert node.cache(KnownRoutes)._watches == {}


async def test_routes_do_not_vanish_while_memory_is_filled_anew(
    names: Names, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    await names.register(registration())
    watched = watch(names, "orders")
    await anext(watched)
    known = node.cache(KnownRoutes)
    ages = iter([-1, -1, -1])

    def filled(kind: type) -> int:
        age_ms = next(ages, 0)
        if age_ms == 0 and not known.brokers:
            for family in ("name_server.brokers", "name_server.queues"):
                for key, row in node.rows(family).items():
                    known.put(family, key, row)
            known.put(*_wiped(node))
        return age_ms

    monkeypatch.setattr(node, "cache_age_ms", filled)
    known.reset()

    assert perms(await anext(watched)) == {"orders": {"broker-a": 4}}


def _wiped(node: Node) -> tuple[str, bytes, bytes]:
    [(key, row)] = node.rows("name_server.brokers").items()
    broker = rows.Broker.FromString(row)
    broker.write_wiped = True
    return "name_server.brokers", key, broker.SerializeToString()


async def test_what_no_majority_took_is_sent_too(names: Names, node: Node) -> None:
    watched = watch(names, "orders")
    assert perms(await anext(watched)) == {"orders": {}}
    node.alone = True
    await names.register(registration())
    routes = await anext(watched)
    assert perms(routes) == {"orders": {"broker-a": 6}}
    assert list(routes.state.unconfirmed) == ["broker-a"]

    # Nobody confirms it, and it says nothing more.
    await node.advance(120_000)
    with pytest.raises(Rejected):
        await names.unregister()
    assert perms(await anext(watched)) == {"orders": {}}
