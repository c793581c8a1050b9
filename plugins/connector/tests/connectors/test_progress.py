"""Progress is not lost by a change of the definition, unless that is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.v1.connectors_pb2 import (
    ProgressField,
    RollBackConnectorRequest,
    UpdateConnectorRequest,
    UpdateConnectorsRequest,
)

HOOK = {"topic": "t", "url": "https://hooks.example/"}


async def test_fewer_tasks_than_have_progress(bench: Any) -> None:
    await bench.create(tasks=4)
    await bench.progress(0, 2)
    before = bench.node.digest()

    with pytest.raises(Rejected, match=r"PROGRESS_ORPHANED: tasks 2 of connector orders of tenant"):
        await bench.update(bench.definition(2))

    assert bench.node.digest() == before
    assert (await bench.update(bench.definition(3))).version == 2
    assert await bench.progressed() == [0, 2]


async def test_progress_of_tasks_that_go_is_discarded_when_asked(bench: Any) -> None:
    await bench.create(tasks=4)
    await bench.progress(0, 3)

    await bench.update(bench.definition(2), discard_progress=True)
    await bench.update(bench.definition(4))

    assert await bench.progressed() == [0]


async def test_another_type_does_not_understand_progress(bench: Any) -> None:
    await bench.create(tasks=3)
    await bench.progress(0, 1, 2)
    hook = bench.definition(3, "webhook", **HOOK)

    with pytest.raises(Rejected, match="PROGRESS_ORPHANED: tasks 0, 1, 2 of connector"):
        await bench.update(hook)
    await bench.update(hook, discard_progress=True)

    assert await bench.progressed() == []


async def test_a_roll_back_keeps_progress_as_well(bench: Any) -> None:
    await bench.create(tasks=1)
    await bench.update(bench.definition(3))
    await bench.progress(2)
    back = RollBackConnectorRequest(tenant="acme", name="orders", version=1)

    with pytest.raises(Rejected, match="PROGRESS_ORPHANED"):
        await bench.service.RollBack(back, None)
    back.discard_progress = True
    assert (await bench.service.RollBack(back, None)).version == 3
    assert len(await bench.tasks()) == 1


async def test_a_refusal_names_some_tasks_and_counts_the_rest(bench: Any) -> None:
    await bench.create(tasks=25)
    await bench.progress(*range(25))

    with pytest.raises(Rejected, match="19, 20 and 4 more of connector"):
        await bench.update(bench.definition(1))


async def test_progress_does_not_go_on_in_another_stream(bench: Any) -> None:
    await bench.create(tasks=3)
    await bench.progress(0, 2)
    before = bench.node.digest()

    for changes, named in [
        ({"topic": "bills"}, "config.topic"),
        ({"path": "/var/bills"}, "config.path"),
        ({"topic": "bills", "path": "/b"}, "config.topic, config.path"),
    ]:
        with pytest.raises(
            Rejected,
            match=f"PROGRESS_ORPHANED: tasks 0, 2 of .* lost: keep {named}, or give discard_prog",
        ):
            await bench.update(bench.definition(3, **changes))
    assert bench.node.digest() == before

    await bench.update(bench.definition(3, format="json"))
    assert await bench.progressed() == [0, 2]
    await bench.update(bench.definition(3, topic="bills"), discard_progress=True)
    assert await bench.progressed() == []


async def test_a_topic_is_free_as_long_as_nothing_is_stored(bench: Any) -> None:
    await bench.create(tasks=2)

    assert (await bench.update(bench.definition(2, topic="bills"))).version == 2


async def test_what_progress_belongs_to_is_not_for_the_caller_to_say(bench: Any) -> None:
    await bench.create(tasks=1)
    await bench.progress(0)
    wanted = bench.definition(1, topic="bills")
    wanted.progress_of.extend((await bench.get()).definition.progress_of)

    with pytest.raises(Rejected, match="PROGRESS_ORPHANED"):
        await bench.update(wanted)
    same = bench.definition(1)
    same.progress_of.append(ProgressField(name="more"))
    assert (await bench.update(same)).version == 1


async def test_a_roll_back_to_another_stream_orphans_progress_as_well(bench: Any) -> None:
    await bench.create(tasks=1)
    await bench.update(bench.definition(1, topic="bills"))
    await bench.progress(0)
    back = RollBackConnectorRequest(tenant="acme", name="orders", version=1)

    with pytest.raises(Rejected, match=r"PROGRESS_ORPHANED: .* keep config\.topic, or"):
        await bench.service.RollBack(back, None)
    back.discard_progress = True
    await bench.service.RollBack(back, None)
    assert await bench.progressed() == []


async def test_a_batch_orphans_no_progress_either(bench: Any) -> None:
    await bench.create(tasks=1)
    await bench.progress(0)
    change = UpdateConnectorRequest(
        tenant="acme", name="orders", definition=bench.definition(1, topic="bills")
    )

    reply: BatchReply = await bench.service.UpdateBatch(
        UpdateConnectorsRequest(connectors=[change]), None
    )

    assert [each.code for each in reply.refusals] == ["PROGRESS_ORPHANED"]
