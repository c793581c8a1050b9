"""The plugin's part in the deletion of a tenant."""

from __future__ import annotations

from asyncio import run
from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, DeleteTenantRequest, ListTenants, Tenant
from quorate_mqtt.resources import RESOURCES
from quorate_mqtt.topics.deletion import DELETION as TOPIC_DELETION
from quorate_mqtt.v1.retained_messages_pb2 import (
    PutRetainedMessageRequest,
    PutRetainedMessages,
)

DELETION = "mqtt.tenant_deletion"

#: What no tenant is to leave behind; the shares and tallies of sessions are counted anew.
HELD = [each.family for each in RESOURCES if each.tenant]

#: The commands whose examples make rows of tenants.
MAKING = ("quorate_mqtt.v1.Create", "quorate_mqtt.v1.Connect", "quorate_mqtt.v1.Subscribe")


@pytest.fixture
def full(node: MemoryNode) -> MemoryNode:
    """A node with an example of everything, for `acme` and for `globex`."""
    run(node.propose(RegisterBroker(name="broker-1", cluster_name="mqtt"), Broker))
    for name, command in node.catalog.commands.items():
        if name.startswith(MAKING):
            run(node.propose(command.examples[0], Message))
    messages = [
        PutRetainedMessageRequest(tenant=tenant, topic=f"t/{number}", payload=b"p")
        for tenant in ("acme", "globex")
        for number in range(20)
    ]
    run(node.propose(PutRetainedMessages(messages=messages), BatchReply))
    return node


def held(node: MemoryNode, tenant: str) -> set[str]:
    packed = b"\x02" + tenant.encode() + b"\x00"
    return {family for family in HELD if any(k.startswith(packed) for k in node.rows(family))}


def tenants(node: MemoryNode, *names: str) -> list[Tenant]:
    async def read() -> list[Tenant]:
        page = await node.servicer("quorate.v1.TenantService").List(ListTenants(), None)
        return [each for each in page.tenants if each.name in names]

    return run(read())


def delete(node: MemoryNode, tenant: str = "acme", *, cascade: bool = True) -> None:
    service: Any = node.servicer("quorate.v1.TenantService")
    run(service.Delete(DeleteTenantRequest(name=tenant, cascade=cascade), None))


def test_everything_that_a_tenant_has_is_held(full: MemoryNode) -> None:
    wanted = {
        "mqtt.acl_rules",
        "mqtt.auto_subscriptions",
        "mqtt.blacklist_entries",
        "mqtt.retained_messages",
        "mqtt.rewrite_rules",
        "mqtt.topics",
        "mqtt.users",
    }

    assert wanted <= held(full, "acme")


def test_a_tenant_that_holds_something_is_not_deleted_without_cascade(full: MemoryNode) -> None:
    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*holds something in mqtt"):
        delete(full, cascade=False)

    assert held(full, "acme")


def test_a_tenant_that_holds_nothing_here_goes_at_the_next_run(node: MemoryNode) -> None:
    delete(node, "hooli", cascade=False)

    run(node.run_controller(DELETION))

    assert not tenants(node, "hooli")


def test_a_cascade_erases_what_the_tenant_has_and_nothing_of_others(full: MemoryNode) -> None:
    kept = {family: len(full.rows(family)) for family in HELD}
    others = held(full, "globex")
    delete(full)

    for controller in (DELETION, TOPIC_DELETION.name, DELETION):
        run(full.run_controller(controller))

    assert not held(full, "acme")
    assert not tenants(full, "acme")
    assert held(full, "globex") == others
    assert all(full.rows(family) for family in others)
    assert sum(kept.values()) > sum(len(full.rows(family)) for family in HELD)
    assert not any(b"acme" in key for key in full.rows("mqtt.user_credentials"))


def test_a_tenant_stays_while_its_topics_are_being_deleted(full: MemoryNode) -> None:
    delete(full)

    run(full.run_controller(DELETION))

    [left] = tenants(full, "acme")
    assert list(left.cascades) == ["mqtt"]
    assert held(full, "acme") == {"mqtt.topics"}


def test_nothing_is_erased_before_every_shard_knows_of_the_deletion(full: MemoryNode) -> None:
    """A shard whose copy lags would still take something new, which would be left over."""
    full.mirrors_lag = True
    delete(full)
    before = held(full, "acme")

    run(full.run_controller(DELETION))

    assert held(full, "acme") == before
    full.mirror()
    run(full.run_controller(DELETION))
    assert held(full, "acme") < before


def test_a_tenant_of_the_same_name_begins_anew(full: MemoryNode) -> None:
    delete(full)
    for controller in (DELETION, TOPIC_DELETION.name, DELETION):
        run(full.run_controller(controller))

    run(full.propose(CreateTenant(name="acme"), Tenant))

    [created] = tenants(full, "acme")
    assert not created.cascades
    assert not held(full, "acme")


def test_more_rows_than_a_page_are_erased(
    node: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.plugin.resource.reading.LARGEST_PAGE", 3)
    messages = [
        PutRetainedMessageRequest(tenant="acme", topic=f"t/{number}", payload=b"p")
        for number in range(50)
    ]
    run(node.propose(PutRetainedMessages(messages=messages), BatchReply))
    delete(node)

    run(node.run_controller(DELETION))

    assert not held(node, "acme")
    assert not tenants(node, "acme")
