from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription, AutoSubscriptionRequest


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("AutoSubscriptionService")


def create(service: Any, **fields: Any) -> AutoSubscription:
    rule = {"tenant": "acme", "name": "one", "topic": "inbox/%c", **fields}
    request = AutoSubscriptionRequest(definition=AutoSubscription(**rule))
    created: AutoSubscription = run(service.Create(request, None))
    return created


def test_all_options_of_a_subscription_are_kept(service: Any) -> None:
    created = create(service, qos=2, no_local=True, retain_as_published=True, retain_handling=2)

    assert created == AutoSubscription(
        tenant="acme",
        name="one",
        topic="inbox/%c",
        qos=2,
        no_local=True,
        retain_as_published=True,
        retain_handling=2,
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )


def test_a_rule_may_subscribe_in_a_group(service: Any) -> None:
    assert create(service, topic="$share/workers/jobs/#").topic == "$share/workers/jobs/#"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"topic": ""}, "topic"),
        ({"topic": "a/#/b"}, "topic"),
        ({"topic": "$share/g"}, "topic"),
        ({"qos": 3}, "qos"),
        ({"retain_handling": 3}, "retain_handling"),
        ({"topic": "$share/g/a", "no_local": True}, "no_local"),
    ],
)
def test_a_rule_that_no_client_could_subscribe_by_is_refused(
    service: Any, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        create(service, **fields)

    assert refusal.value.field == f"definition.{field}"
