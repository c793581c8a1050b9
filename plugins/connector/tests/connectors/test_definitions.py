"""Definitions: made, changed and rolled back as versions, and told to the tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.plugin.resource import reading
from quorate_connector.connectors import service
from quorate_connector.connectors.apply import MOST_VERSIONS
from quorate_connector.types.shipped import SHIPPED
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    TARGET_RUNNING,
    TARGET_STOPPED,
    Connector,
    Definition,
    DeleteConnector,
    DeleteConnectorsRequest,
    Label,
    ListConnectorsRequest,
    ListTypesRequest,
    PutConnectorRequest,
    PutConnectorsRequest,
    RestartTasks,
    RollBackConnectorRequest,
    SetConnectorTarget,
    UpdateConnectorRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_ASSIGNED,
    TASK_STATE_STOPPED,
    TASK_STATE_UNASSIGNED,
)


async def test_a_new_connector_is_complete_and_has_its_tasks(bench: Any) -> None:
    wanted = bench.definition(0)
    wanted.labels.extend([Label(name="zone", value="b"), Label(name="arch", value="arm")])

    created = await bench.create(definition=wanted)

    assert created == await bench.get()
    definition = created.definition
    assert (definition.tasks_max, definition.failures_max, definition.backoff_ms) == (1, 10, 1_000)
    assert [label.name for label in definition.labels] == ["arch", "zone"]
    assert json.loads(definition.config)["sync"] is True
    assert (created.version, created.target) == (1, TARGET_RUNNING)
    assert (created.created_at_ms, created.updated_at_ms) == (1_000, 1_000)
    assert created.uid
    [task] = await bench.tasks()
    assert (task.uid, task.version, task.target) == (created.uid, 1, TARGET_RUNNING)
    assert task.state == TASK_STATE_UNASSIGNED


async def test_a_connector_that_is_there_is_not_made_again(bench: Any) -> None:
    await bench.create()
    before = bench.node.digest()

    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        await bench.create(tasks=7)

    assert bench.node.digest() == before


async def test_the_same_name_of_another_tenant_is_another_connector(bench: Any) -> None:
    mine, theirs = await bench.create(), await bench.create(tenant="globex")

    assert mine.uid != theirs.uid
    assert len(bench.node.rows("connector.tasks")) == 4


async def test_nothing_is_made_for_a_tenant_that_is_not_there(bench: Any) -> None:
    with pytest.raises(Rejected, match="TENANT_NOT_FOUND"):
        await bench.create(tenant="initech")

    assert bench.rows() == {}


async def test_an_update_is_a_version_with_which_the_tasks_begin_anew(bench: Any) -> None:
    await bench.create()
    await bench.assign()
    before = await bench.tasks()
    assert [task.state for task in before] == [TASK_STATE_ASSIGNED] * 2
    await bench.node.advance(500)

    updated = await bench.update(bench.definition(3, path="/elsewhere"), expected_version=1)

    assert (updated.version, updated.created_at_ms, updated.updated_at_ms) == (2, 1_000, 1_500)
    assert updated == await bench.get()
    tasks = await bench.tasks()
    assert [(task.version, task.state) for task in tasks] == [(2, TASK_STATE_UNASSIGNED)] * 3
    assert all(new.epoch > old.epoch for new, old in zip(tasks, before, strict=False))
    assert [each.version for each in await bench.versions()] == [2, 1]


async def test_an_update_changes_what_is_given_alone(bench: Any) -> None:
    before = await bench.create()

    larger = await bench.update(Definition(tasks_max=5))

    before.definition.tasks_max, before.version = 5, 2
    assert larger == before
    with pytest.raises(Invalid, match="update_mask: names 'version', and may name definition"):
        await bench.update(Definition(), update_mask={"paths": ["version"]})


async def test_an_update_between_another_read_and_write_keeps_both(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.create()
    find, others = service.Definitions._find, [3]

    async def find_and_be_overtaken(self: Any, *named: Any) -> Any:
        [found] = await find(self, *named)
        assert found is not None
        if others:
            await bench.node.propose(
                UpdateConnectorRequest(
                    tenant="acme",
                    name="orders",
                    definition=_with(found.definition, failures_max=others.pop()),
                ),
                Connector,
            )
        return [found]

    monkeypatch.setattr(service.Definitions, "_find", find_and_be_overtaken)
    request = UpdateConnectorRequest(
        tenant="acme", name="orders", definition=Definition(tasks_max=5)
    )
    updated = await bench.service.Update(request, None)

    assert (updated.definition.tasks_max, updated.definition.failures_max) == (5, 3)


def _with(definition: Definition, **fields: Any) -> Definition:
    changed = Definition()
    changed.CopyFrom(definition)
    changed.MergeFrom(Definition(**fields))
    return changed


async def test_put_creates_and_replaces(bench: Any) -> None:
    def put(tasks: int, **fields: Any) -> Any:
        return bench.service.Put(
            PutConnectorRequest(
                tenant="acme", name="orders", definition=bench.definition(tasks), **fields
            ),
            None,
        )

    made = await put(2, target=TARGET_PAUSED)
    same = await put(2)
    other = await put(3, target=TARGET_RUNNING)

    assert same == made
    assert (other.uid, other.version, other.target) == (made.uid, 2, TARGET_RUNNING)
    batch = PutConnectorsRequest(connectors=[{"tenant": "acme", "name": "bills"}, {}])
    batch.connectors[0].definition.CopyFrom(bench.definition(1))
    reply = await bench.service.PutBatch(batch, None)
    assert [each.item for each in reply.refusals] == [1]
    assert Connector.FromString(reply.replies[0]).name == "bills"


async def test_a_delete_of_nothing_is_no_failure_where_that_is_asked_for(bench: Any) -> None:
    await bench.service.Delete(DeleteConnector(tenant="a", name="b", missing_ok=True), None)
    names = [DeleteConnector(tenant="a", name="b", missing_ok=True)]
    reply = await bench.service.DeleteBatch(DeleteConnectorsRequest(connectors=names), None)
    assert not reply.refusals


async def test_tasks_that_go_leave_nothing(bench: Any) -> None:
    await bench.create(tasks=1)
    small = bench.rows()
    await bench.update(bench.definition(5))
    await bench.assign()

    await bench.update(bench.definition(1))

    assert len(await bench.tasks()) == 1
    left = bench.rows()
    assert left["connector.tasks"] == small["connector.tasks"] == 1
    assert "connector.assignments" not in left


async def test_the_same_definition_changes_nothing(bench: Any) -> None:
    await bench.create()
    before = bench.node.digest()

    # Said in other words: the configuration is stored in one form.
    again = Definition(
        type="file",
        config=b'{ "path": "/var/orders", "sync": true, "topic": "orders" }',
        tasks_max=2,
    )
    assert (await bench.update(again)).version == 1

    assert bench.node.digest() == before


async def test_an_update_of_another_version_is_refused(bench: Any) -> None:
    await bench.create()
    await bench.update(bench.definition(3))
    before = bench.node.digest()

    with pytest.raises(Rejected, match="VERSION_CONFLICT"):
        await bench.update(bench.definition(4), expected_version=1)

    assert bench.node.digest() == before


async def test_a_roll_back_is_a_version_of_its_own(bench: Any) -> None:
    first = await bench.create()
    await bench.update(bench.definition(5))

    request = RollBackConnectorRequest(tenant="acme", name="orders", version=1)
    back = await bench.service.RollBack(request, None)

    assert (back.version, back.definition) == (3, first.definition)
    assert [each.definition.tasks_max for each in await bench.versions()] == [2, 5, 2]
    assert len(await bench.tasks()) == 2
    # A call that is sent again does no harm.
    assert await bench.service.RollBack(request, None) == back


async def test_a_version_that_is_not_kept(bench: Any) -> None:
    await bench.create()

    with pytest.raises(Rejected, match="VERSION_NOT_FOUND"):
        await bench.service.RollBack(
            RollBackConnectorRequest(tenant="acme", name="orders", version=2), None
        )


async def test_a_version_of_a_type_that_is_not_offered_any_more(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.create()
    await bench.update(bench.definition(1, "webhook", topic="t", url="https://hooks.example/"))
    left = {each.name: each for each in SHIPPED if each.name != "file"}
    monkeypatch.setattr(service, "offered", lambda _: left)

    with pytest.raises(Invalid, match=r"definition\.type: unknown type"):
        await bench.service.RollBack(
            RollBackConnectorRequest(tenant="acme", name="orders", version=1), None
        )


async def test_the_newest_versions_are_kept(bench: Any) -> None:
    await bench.create()
    for number in range(MOST_VERSIONS + 1):
        await bench.update(bench.definition(1, path=f"/{number}"))

    newest = MOST_VERSIONS + 2
    assert [each.version for each in await bench.versions()] == list(range(newest, 2, -1))
    assert bench.rows()["connector.versions"] == MOST_VERSIONS


async def test_a_deleted_connector_leaves_nothing(bench: Any) -> None:
    empty = bench.rows()
    await bench.create(tasks=3)
    for number in range(MOST_VERSIONS + 3):
        await bench.update(bench.definition(3, path=f"/{number}"))
    await bench.progress(0, 2)
    name = DeleteConnector(tenant="acme", name="orders")

    await bench.service.Delete(name, None)

    assert await bench.get() is None
    left = bench.rows()
    # The worker was heard of, and stays known for a while.
    left.pop("connector.workers")
    assert left == empty
    with pytest.raises(Rejected, match="CONNECTOR_NOT_FOUND"):
        await bench.service.Delete(name, None)


async def test_other_labels_are_told_to_the_tasks(bench: Any) -> None:
    await bench.create()
    await bench.assign()
    elsewhere = bench.definition()
    elsewhere.labels.add(name="zone", value="b")

    await bench.update(elsewhere)
    await bench.node.run_woken()

    # The only worker has no such label.
    assert [task.worker for task in await bench.tasks()] == ["", ""]
    await bench.update(bench.definition(), update_mask={"paths": ["definition.labels"]})
    await bench.node.run_woken()
    assert [task.worker for task in await bench.tasks()] == ["w", "w"]


async def test_a_name_that_is_used_again_is_another_connector(bench: Any) -> None:
    first = await bench.create()
    [old, _] = await bench.tasks()
    await bench.service.Delete(DeleteConnector(tenant="acme", name="orders"), None)

    second = await bench.create()

    assert second.uid > first.uid
    [new, _] = await bench.tasks()
    assert new.epoch > old.epoch


async def test_targets_are_told_to_the_tasks(bench: Any) -> None:
    await bench.create()

    for target in (TARGET_PAUSED, TARGET_STOPPED, TARGET_RUNNING):
        aimed = await bench.aim(target)
        assert (aimed.target, aimed.version) == (target, 1)
        assert [task.target for task in await bench.tasks()] == [target] * 2
    digest = bench.node.digest()
    await bench.aim(TARGET_RUNNING)
    assert bench.node.digest() == digest


async def test_a_connector_may_begin_stopped(bench: Any) -> None:
    created = await bench.create(target=TARGET_STOPPED)

    assert created.target == TARGET_STOPPED
    assert [task.state for task in await bench.tasks()] == [TASK_STATE_STOPPED] * 2


async def test_some_tasks_are_restarted(bench: Any) -> None:
    await bench.create(tasks=3)
    before = await bench.tasks()

    await bench.service.Restart(RestartTasks(tenant="acme", name="orders", tasks=[2, 0, 2]), None)

    after = await bench.tasks()
    changed = [new.epoch != old.epoch for new, old in zip(after, before, strict=True)]
    assert changed == [True, False, True]
    await bench.service.Restart(RestartTasks(tenant="acme", name="orders"), None)
    assert all(new.epoch > old.epoch for new, old in zip(await bench.tasks(), after, strict=True))


async def test_what_is_not_there_or_stopped_is_not_restarted(bench: Any) -> None:
    await bench.create()
    unknown = RestartTasks(tenant="acme", name="orders", tasks=[1, 2])

    with pytest.raises(Rejected, match="TASK_NOT_FOUND"):
        await bench.service.Restart(unknown, None)
    await bench.aim(TARGET_STOPPED)
    with pytest.raises(Rejected, match="CONNECTOR_STOPPED"):
        await bench.service.Restart(RestartTasks(tenant="acme", name="orders"), None)


async def test_connectors_are_listed_page_by_page(bench: Any) -> None:
    for tenant, name in (("acme", "a1"), ("acme", "a2"), ("acme", "b1"), ("globex", "a1")):
        await bench.create(name=name, tenant=tenant, tasks=1)
    hook = bench.definition(1, "webhook", topic="t", url="https://hooks.example/")
    await bench.create(name="a3", definition=hook)

    async def listed(**wanted: Any) -> list[str]:
        found: list[str] = []
        token = b""
        for _ in range(10):
            request = ListConnectorsRequest(page_size=2, page_token=token, **wanted)
            page = await bench.service.List(request, None)
            assert len(page.connectors) <= 2
            found += [f"{each.tenant}/{each.name}" for each in page.connectors]
            token = page.next_page_token
            if not token:
                return found
        raise AssertionError(f"the list does not end: {found}")

    assert await listed() == ["acme/a1", "acme/a2", "acme/a3", "acme/b1", "globex/a1"]
    assert await listed(tenant="acme") == ["acme/a1", "acme/a2", "acme/a3", "acme/b1"]
    assert await listed(tenant="acme", name_prefix="a") == ["acme/a1", "acme/a2", "acme/a3"]
    assert await listed(tenant="acme", type="file") == ["acme/a1", "acme/a2", "acme/b1"]
    assert await listed(tenant="acme", name_prefix="c") == []


async def test_a_page_looks_at_no_more_rows_than_it_may(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LOOKED_AT", 4)
    hook = bench.definition(1, "webhook", topic="t", url="https://hooks.example/")
    for number in range(7):
        await bench.create(name=f"c{number}", tasks=1, definition=hook if number == 5 else None)

    first = await bench.service.List(ListConnectorsRequest(type="webhook"), None)
    assert list(first.connectors) == []
    rest = ListConnectorsRequest(type="webhook", page_token=first.next_page_token)
    second = await bench.service.List(rest, None)

    assert [each.name for each in second.connectors] == ["c5"]
    assert second.next_page_token == b""


async def test_a_page_of_large_configurations_is_short(bench: Any) -> None:
    headers = {f"h{number}": "v" * 4_000 for number in range(15)}
    large = bench.definition(1, "webhook", topic="t", url="https://h.example/", headers=headers)
    for number in range(20):
        await bench.create(name=f"c{number:02}", definition=large)

    page = await bench.service.List(ListConnectorsRequest(tenant="acme"), None)

    assert 2 <= len(page.connectors) < 20
    assert page.ByteSize() <= reading.PAGE_BYTES + large.ByteSize() + 1_024
    rest = ListConnectorsRequest(tenant="acme", page_token=page.next_page_token)
    following = await bench.service.List(rest, None)
    assert following.connectors[0].name == f"c{len(page.connectors):02}"


async def test_the_types_are_listed_with_the_fields_of_their_configuration(bench: Any) -> None:
    listed = await bench.service.ListTypes(ListTypesRequest(), None)

    assert [each.name for each in listed.types] == ["file", "kafka", "mqtt_bridge", "webhook"]
    assert list(json.loads(listed.types[0].json_schema)["properties"]) == [
        "topic",
        "path",
        "format",
        "sync",
    ]


async def test_what_its_type_does_not_want_is_not_logged(bench: Any) -> None:
    await bench.create()
    logged = len(bench.node.proposals)
    secret = bench.definition(1, "kafka", topic="t", brokers=["k:1"], password="hunter2")

    for call in (bench.create(name="other", definition=secret), bench.update(secret)):
        with pytest.raises(Invalid) as caught:
            await call
        assert caught.value.field == "definition.config"
        assert "remote_topic is missing; password must refer to a secret" in caught.value.reason
        assert "hunter2" not in str(caught.value)
    assert len(bench.node.proposals) == logged


async def test_a_target_that_is_none(bench: Any) -> None:
    await bench.create()

    with pytest.raises(Invalid, match="TARGET_RUNNING, TARGET_PAUSED, TARGET_STOPPED"):
        await bench.service.SetTarget(SetConnectorTarget(tenant="acme", name="orders"), None)
