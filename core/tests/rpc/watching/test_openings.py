"""Who may open a watch, and when."""

from __future__ import annotations

import asyncio

from quorate.rpc.watch_service import TURN_WATCHES, Openings


async def admit(openings: Openings, who: str, seen: list[str]) -> None:
    await openings.admit(who)
    seen.append(who)


async def test_one_that_opens_many_delays_its_own() -> None:
    openings, seen = Openings(asyncio.get_running_loop()), list[str]()
    many = [asyncio.ensure_future(admit(openings, "many", seen)) for _ in range(200)]
    await asyncio.sleep(0)
    few = [asyncio.ensure_future(admit(openings, who, seen)) for who in ("a", "b", "a")]

    await asyncio.gather(*many, *few)

    assert seen[:TURN_WATCHES] == ["many"] * TURN_WATCHES
    # Each gets every third turn at the least.
    assert {"a", "b"} <= set(seen[TURN_WATCHES : TURN_WATCHES + 3])
    assert seen.index("a", seen.index("a") + 1) <= TURN_WATCHES + 6
    assert seen.count("many") == 200


async def test_those_that_have_gone_take_nobodys_turn() -> None:
    openings, seen = Openings(asyncio.get_running_loop()), list[str]()
    gone = [asyncio.ensure_future(admit(openings, "gone", seen)) for _ in range(2_000)]
    await asyncio.sleep(0)
    for each in gone:
        each.cancel()
    await asyncio.gather(*gone, return_exceptions=True)

    await admit(openings, "another", seen)

    assert seen == ["gone"] * TURN_WATCHES + ["another"]
