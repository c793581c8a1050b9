from __future__ import annotations

from asyncio import run
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from quorate.plugin import Invalid, NodeApi, Rejected
from quorate.plugin.catalog import Catalog
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, MarkTenant, Tenant, UpdateTenant
from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.topics.deletion import DELETION
from quorate_mqtt.topics.resource import DELETIONS, TOPIC
from quorate_mqtt.v1.retained_messages_pb2 import (
    PutRetainedMessageRequest,
    PutRetainedMessages,
)
from quorate_mqtt.v1.topics_pb2 import (
    TOPIC_SOURCE_MQTT,
    TOPIC_SOURCE_SYSTEM,
    TOPIC_STORAGE_ENGINE_MEMORY,
    TOPIC_STORAGE_ENGINE_SEGMENT,
    CreateTopicRequest,
    CreateTopics,
    DeleteTopic,
    DeleteTopics,
    FinishTopics,
    GetTopicsRequest,
    GrowTopicRequest,
    GrowTopics,
    ListTopicsRequest,
    Topic,
    TopicConfig,
    TopicFinish,
    TopicName,
    UpdateTopicRequest,
    UpdateTopics,
)


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("TopicService")


def topic(name: str = "orders", tenant: str = "acme", **fields: Any) -> Topic:
    made = Topic(tenant=tenant, name=name, partitions=1, replication=1)
    made.MergeFrom(Topic(**fields))
    return made


def create(service: Any, name: str = "orders", tenant: str = "acme", **fields: Any) -> Topic:
    request = CreateTopicRequest(topic=topic(name, tenant, **fields))
    created: Topic = run(service.Create(request, None))
    return created


def delete(service: Any, name: str = "orders", tenant: str = "acme") -> Topic:
    deleted: Topic = run(service.Delete(DeleteTopic(tenant=tenant, name=name), None))
    return deleted


def listed(service: Any, **fields: Any) -> list[tuple[str, str]]:
    async def stream() -> list[tuple[str, str]]:
        pages = service.StreamList(ListTopicsRequest(**fields), None)
        return [(each.tenant, each.name) async for page in pages for each in page.topics]

    return run(stream())


class Parts:
    """A finalizer of another plugin that is done when a test says so."""

    def __init__(self) -> None:
        self.done = False
        self.failure: Exception | None = None
        self.asked: list[str] = []

    async def finish(self, node: NodeApi, topics: Sequence[Topic]) -> Sequence[Topic]:
        self.asked += [each.name for each in topics]
        if self.failure is not None:
            raise self.failure
        return topics if self.done else ()


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
def shared(catalog: Catalog, parts: Parts) -> MemoryNode:
    """A node with a plugin that holds something of every topic."""
    own = catalog.extensions[TOPIC_FINALIZERS]
    given = {**own, "another.part": TopicFinalizer(parts.finish)}
    extended = replace(catalog, extensions={**catalog.extensions, TOPIC_FINALIZERS: given})
    node = MemoryNode(catalog=extended, shards={"mqtt": 4}, at_ms=1_000)
    for tenant in ("acme", "globex"):
        run(node.propose(CreateTenant(name=tenant), Tenant))
    return node


@pytest.fixture
def sharing(shared: MemoryNode) -> Any:
    return shared.servicer("quorate_mqtt.v1.TopicService")


def test_create_completes_what_is_left_open(service: Any) -> None:
    assert create(service) == topic(
        id=create(service, "next").id - 1,
        storage=TOPIC_STORAGE_ENGINE_SEGMENT,
        source=TOPIC_SOURCE_MQTT,
        config=TopicConfig(segment_bytes=1 << 30, records=0, retention_s=604_800),
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )


def test_what_the_service_sets_is_not_taken_from_clients(service: Any) -> None:
    forged = create(
        service, id=5, created_at_ms=1, deleting_at_ms=1, finalizers=["none"], updated_at_ms=2
    )

    assert forged.id != 5
    assert (forged.created_at_ms, forged.updated_at_ms) == (1_000, 1_000)
    assert (forged.deleting_at_ms, list(forged.finalizers)) == (0, [])


def test_ids_are_unique_over_all_tenants_and_shards(service: Any) -> None:
    tenants = ("acme", "globex", "initech", "hooli")

    ids = {create(service, name, tenant).id for tenant in tenants for name in ("a", "b")}

    assert len(ids) == 8


def test_create_of_an_existing_topic_is_told_and_changes_nothing(service: Any) -> None:
    first = create(service, partitions=4)

    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        create(service)

    assert run(service.Get(TopicName(tenant="acme", name="orders"), None)) == first


def test_create_topic_needs_a_tenant_that_lives(service: Any, node: MemoryNode) -> None:
    with pytest.raises(Rejected, match=r"NOT_FOUND.*tenant nobody"):
        create(service, tenant="nobody")
    run(node.propose(MarkTenant(name="acme", cascades=["mqtt"]), Tenant))
    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*being deleted"):
        create(service)


def test_update_changes_what_is_given_alone(service: Any, node: MemoryNode) -> None:
    before = create(service, partitions=3, config=TopicConfig(records=7, retention_s=60))
    run(node.advance(500))

    after = run(
        service.Update(
            UpdateTopicRequest(
                tenant="acme",
                name="orders",
                description="new",
                config=TopicConfig(segment_bytes=4_096),
            ),
            None,
        )
    )

    before.description, before.updated_at_ms = "new", 1_500
    before.config.segment_bytes = 4_096
    assert after == before
    cleared = UpdateTopicRequest(tenant="acme", name="orders")
    cleared.update_mask.paths.extend(["config.retention_s", "description"])
    before.description, before.config.retention_s = "", 604_800
    assert run(service.Update(cleared, None)) == before
    cleared.update_mask.paths.append("partitions")
    with pytest.raises(Invalid, match="update_mask: names 'partitions', and may name description"):
        run(service.Update(cleared, None))


def test_put_creates_replaces_and_grows(service: Any, node: MemoryNode) -> None:
    def put(**fields: Any) -> Topic:
        given = {"partitions": 2, "replication": 1, **fields}
        topic = Topic(tenant="acme", name="orders", **given)
        written: Topic = run(service.Put(CreateTopicRequest(topic=topic), None))
        return written

    made = put(description="first", config=TopicConfig(records=7))
    run(node.advance(500))
    again = put(partitions=3)

    made.updated_at_ms, made.partitions, made.description, made.config.records = 1_500, 3, "", 0
    assert again == made
    for fields in ({"partitions": 2}, {"partitions": 3, "replication": 2}):
        with pytest.raises(Rejected, match="FAILED_PRECONDITION"):
            put(**fields)


def test_a_delete_of_nothing_is_no_failure_where_that_is_asked_for(service: Any) -> None:
    named = DeleteTopic(tenant="acme", name="nothing", missing_ok=True)

    assert run(service.Delete(named, None)) == Topic()


@pytest.mark.parametrize("partitions", [1, 3])
def test_update_topic_partitions_refuses_a_count_that_is_not_larger(
    service: Any, partitions: int
) -> None:
    create(service, partitions=3)

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*has 3 partitions, which only grow"):
        run(
            service.Grow(
                GrowTopicRequest(tenant="acme", name="orders", partitions=partitions), None
            )
        )


def test_partitions_grow_and_the_id_stays(service: Any) -> None:
    before = create(service, partitions=3)

    grown = run(service.Grow(GrowTopicRequest(tenant="acme", name="orders", partitions=8), None))

    assert (grown.partitions, grown.id) == (8, before.id)


@pytest.mark.parametrize("verb", ["Update", "Grow", "Delete", "Get"])
def test_a_topic_that_does_not_exist_is_not_found(service: Any, verb: str) -> None:
    requests: dict[str, Any] = {
        "Update": UpdateTopicRequest(tenant="acme", name="orders"),
        "Grow": GrowTopicRequest(tenant="acme", name="orders", partitions=2),
    }
    requests["Delete"] = DeleteTopic(tenant="acme", name="orders")
    named = TopicName(tenant="acme", name="orders")

    with pytest.raises(Rejected, match=r"NOT_FOUND.*topic orders of acme"):
        run(getattr(service, verb)(requests.get(verb, named), None))


def test_delete_marks_and_the_controller_finishes(service: Any, node: MemoryNode) -> None:
    create(service)

    marked = delete(service)

    assert marked.deleting_at_ms == 1_000
    assert list(marked.finalizers) == ["mqtt.retained_message"]
    assert len(node.rows(DELETIONS.name)) == 1
    run(node.run_controller(DELETION.name))
    assert not listed(service)
    assert not node.rows(DELETIONS.name)
    assert not node.rows("mqtt.topics_of_tenants")


def test_a_topic_takes_its_retained_message_along_and_no_other(
    service: Any, node: MemoryNode
) -> None:
    create(service)
    messages = [
        PutRetainedMessageRequest(tenant=tenant, topic=name, payload=b"p")
        for tenant, name in (("acme", "orders"), ("acme", "orders/new"), ("globex", "orders"))
    ]
    run(node.propose(PutRetainedMessages(messages=messages), BatchReply))

    delete(service)
    run(node.run_controller(DELETION.name))

    assert len(node.rows("mqtt.retained_messages")) == 2


def test_a_topic_stays_until_every_finalizer_is_done(
    sharing: Any, shared: MemoryNode, parts: Parts
) -> None:
    create(sharing)
    assert list(delete(sharing).finalizers) == ["another.part", "mqtt.retained_message"]

    run(shared.run_controller(DELETION.name))

    [waiting] = run(sharing.List(ListTopicsRequest(deleting=True), None)).topics
    assert list(waiting.finalizers) == ["another.part"]
    assert parts.asked
    parts.done = True
    run(shared.run_controller(DELETION.name))
    assert not listed(sharing)


def test_a_second_delete_does_not_finish_the_first(
    sharing: Any, shared: MemoryNode, parts: Parts
) -> None:
    create(sharing)
    first = delete(sharing)
    run(shared.advance(500))

    second = delete(sharing)

    assert second.deleting_at_ms == first.deleting_at_ms
    assert "another.part" in second.finalizers
    assert listed(sharing) == [("acme", "orders")]


def test_create_during_a_deletion_is_not_swallowed(sharing: Any) -> None:
    create(sharing)
    delete(sharing)

    with pytest.raises(Rejected, match=r"ALREADY_EXISTS.*being deleted: wait"):
        create(sharing)


@pytest.mark.parametrize("verb", ["Update", "Grow"])
def test_a_topic_that_is_being_deleted_does_not_change(sharing: Any, verb: str) -> None:
    create(sharing)
    delete(sharing)
    requests: dict[str, Any] = {
        "Update": UpdateTopicRequest(tenant="acme", name="orders"),
        "Grow": GrowTopicRequest(tenant="acme", name="orders", partitions=2),
    }

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*being deleted"):
        run(getattr(sharing, verb)(requests[verb], None))


def test_a_finalizer_that_fails_keeps_no_other_from_its_part(
    sharing: Any, shared: MemoryNode, parts: Parts
) -> None:
    for name in ("one", "two"):
        create(sharing, name)
        delete(sharing, name)
    parts.failure = OSError("the engine is away")

    with pytest.raises(ExceptionGroup) as raised:
        run(shared.run_controller(DELETION.name))

    assert set(raised.value.exceptions) == {parts.failure}
    left = run(sharing.List(ListTopicsRequest(), None)).topics
    assert [list(each.finalizers) for each in left] == [["another.part"]] * 2


def test_a_finalizer_of_an_earlier_topic_of_that_name_changes_nothing(
    sharing: Any, shared: MemoryNode
) -> None:
    create(sharing)
    marked = delete(sharing)
    finish = TopicFinish(tenant="acme", name="orders", id=marked.id - 1, finalizer="another.part")

    run(shared.propose(FinishTopics(topics=[finish]), BatchReply))
    finish.id, finish.finalizer = marked.id, "nobody.s"
    run(shared.propose(FinishTopics(topics=[finish]), BatchReply))

    [left] = run(sharing.List(ListTopicsRequest(), None)).topics
    assert "another.part" in left.finalizers


def test_a_name_that_is_used_again_has_another_id(service: Any, node: MemoryNode) -> None:
    first = create(service)
    delete(service)
    run(node.run_controller(DELETION.name))

    assert create(service).id != first.id


def limit(node: MemoryNode, topics: int) -> None:
    run(node.propose(UpdateTenant(name="acme", limits={"mqtt.topics": topics}), Tenant))


def test_the_limit_of_topics_is_exact(service: Any, node: MemoryNode) -> None:
    limit(node, 2)
    command = CreateTopics(topics=[topic(name) for name in "abc"])

    reply = run(service.CreateBatch(command, None))

    assert [(each.item, each.code) for each in reply.refusals] == [(2, "LIMIT_REACHED")]
    assert "has 2 of its 2 topics (mqtt.topics)" in reply.refusals[0].message
    assert listed(service) == [("acme", "a"), ("acme", "b")]
    create(service, tenant="globex")


def test_a_refused_topic_is_not_counted_and_a_deleted_one_no_more(
    sharing: Any, shared: MemoryNode, parts: Parts
) -> None:
    limit(shared, 2)
    create(sharing, "a")
    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        create(sharing, "a")
    create(sharing, "b")
    delete(sharing, "a")
    with pytest.raises(Rejected, match="LIMIT_REACHED"):
        create(sharing, "c")

    parts.done = True
    run(shared.run_controller(DELETION.name))

    create(sharing, "c")
    with pytest.raises(Rejected, match="LIMIT_REACHED"):
        create(sharing, "d")


def test_a_limit_below_the_count_takes_no_topic_away(service: Any, node: MemoryNode) -> None:
    create(service, "a")
    create(service, "b")
    limit(node, 0)

    with pytest.raises(Rejected, match="LIMIT_REACHED"):
        create(service, "c")

    assert len(listed(service)) == 2


def test_batches_are_answered_item_by_item(service: Any) -> None:
    create(service, "taken", "globex")
    creation = CreateTopics(
        topics=[
            topic("a"),
            topic("a/+"),
            topic("taken", "globex"),
            topic("b", "hooli"),
            topic("c", "nobody"),
        ]
    )

    created = run(service.CreateBatch(creation, None))
    updated = run(
        service.UpdateBatch(
            UpdateTopics(
                topics=[
                    UpdateTopicRequest(tenant="acme", name="none"),
                    UpdateTopicRequest(tenant="acme", name="a", description="new"),
                    UpdateTopicRequest(tenant="acme", name=""),
                ]
            ),
            None,
        )
    )
    grown = run(
        service.GrowBatch(
            GrowTopics(
                topics=[
                    GrowTopicRequest(tenant="acme", name="a", partitions=1),
                    GrowTopicRequest(tenant="hooli", name="b", partitions=2),
                    GrowTopicRequest(tenant="hooli", name="c", partitions=0),
                ]
            ),
            None,
        )
    )
    names = [DeleteTopic(tenant="hooli", name=name) for name in ("none", "b", "#")]
    deleted = run(service.DeleteBatch(DeleteTopics(topics=names), None))

    def refusals(reply: BatchReply) -> list[tuple[int, str]]:
        return [(each.item, each.code) for each in reply.refusals]

    assert refusals(created) == [
        (1, "INVALID_ARGUMENT"),
        (2, "ALREADY_EXISTS"),
        (4, "NOT_FOUND"),
    ]
    assert refusals(updated) == [(0, "NOT_FOUND"), (2, "INVALID_ARGUMENT")]
    assert refusals(grown) == [(0, "FAILED_PRECONDITION"), (2, "INVALID_ARGUMENT")]
    assert refusals(deleted) == [(0, "NOT_FOUND"), (2, "INVALID_ARGUMENT")]
    assert Topic.FromString(grown.replies[1]).partitions == 2
    assert Topic.FromString(deleted.replies[1]).deleting_at_ms == 1_000


def test_get_batch_answers_in_order(service: Any) -> None:
    create(service, "a")
    create(service, "b", "hooli")
    names = [
        TopicName(tenant="hooli", name="b"),
        TopicName(tenant="acme", name="z"),
        TopicName(tenant="acme", name="a"),
    ]

    found = run(service.GetBatch(GetTopicsRequest(names=names), None))

    assert [each.topic.name for each in found.lookups] == ["b", "", "a"]


@pytest.mark.parametrize("size", [1, 2, 1_000])
def test_lists_are_filtered_on_the_server(service: Any, size: int) -> None:
    create(service, "home/hall/light")
    create(service, "home/hall/door", source=TOPIC_SOURCE_SYSTEM)
    create(service, "home/kitchen/light", "globex", storage=TOPIC_STORAGE_ENGINE_MEMORY)
    delete(service, "home/hall/door")

    assert listed(service, page_size=size, topic_filter="home/+/light") == [
        ("acme", "home/hall/light"),
        ("globex", "home/kitchen/light"),
    ]
    assert listed(service, page_size=size, source=TOPIC_SOURCE_SYSTEM) == [
        ("acme", "home/hall/door")
    ]
    assert listed(service, page_size=size, tenant="acme", deleting=False) == [
        ("acme", "home/hall/light")
    ]
    assert listed(service, page_size=size, tenant="acme", prefix="home/hall/l") == [
        ("acme", "home/hall/light")
    ]


def test_topics_of_a_tenant_lie_in_its_shard(service: Any, node: MemoryNode) -> None:
    for name in "abc":
        create(service, name)

    assert len(node.rows(TOPIC.family)) == 3
    assert {command.topics[0].tenant for command in node.proposals[-3:]} == {"acme"}  # type: ignore[attr-defined]
    family = node.catalog.families[TOPIC.family]
    assert family.shard_key is not None
    assert len({family.shard_key(key) for key in node.rows(TOPIC.family)}) == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a/+"}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "ä" * 1_537}, "name"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": "a/b"}, "tenant"),
        ({"description": "d" * 1_025}, "description"),
        ({"partitions": 0}, "partitions"),
        ({"partitions": 1_025}, "partitions"),
        ({"replication": 0}, "replication"),
        ({"replication": 10}, "replication"),
        ({"storage": 99}, "storage"),
        ({"source": 99}, "source"),
        ({"config": TopicConfig(records=1 << 63)}, "config.records"),
        ({"config": TopicConfig(retention_s=1 << 63)}, "config.retention_s"),
    ],
)
def test_topics_have_their_bounds(service: Any, fields: dict[str, Any], field: str) -> None:
    given = {"tenant": "acme", "name": "a", "partitions": 1, "replication": 1, **fields}

    with pytest.raises(Invalid) as refusal:
        run(service.Create(CreateTopicRequest(topic=Topic(**given)), None))

    assert refusal.value.field == f"topic.{field}"


def test_marks_and_finishes_are_not_for_clients(node: MemoryNode) -> None:
    public = {
        name.rpartition(".")[2]
        for name, command in node.catalog.commands.items()
        if name.startswith("quorate_mqtt.v1.") and name.endswith("Topics") and command.public
    }

    verbs = ("Create", "Update", "Put", "Grow", "Delete")
    assert public == {f"{verb}Topics" for verb in verbs}


def test_finalizers_are_asked_by_pages_and_one_bad_topic_keeps_back_no_other(
    shared: MemoryNode, sharing: Any
) -> None:
    names = [f"t{number}" for number in range(12)]
    for name in names:
        create(sharing, name)
        delete(sharing, name)
    calls: list[int] = []

    async def finish(node: NodeApi, topics: Sequence[Topic]) -> Sequence[Topic]:
        calls.append(len(topics))
        if any(each.name == "t5" for each in topics):
            raise RuntimeError("no part of t5 goes")
        return topics

    finalizer = shared.extensions(TOPIC_FINALIZERS, TopicFinalizer)["another.part"]
    object.__setattr__(finalizer, "finish", finish)
    with pytest.raises(ExceptionGroup, match="finalizers of topics failed"):
        run(shared.run_controller(DELETION.name))

    assert [name for _, name in listed(sharing)] == ["t5"]
    assert calls == [12] + [1] * 12
