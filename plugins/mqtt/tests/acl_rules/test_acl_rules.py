from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate_mqtt.v1.acl_rules_pb2 import (
    ACL_ACTION_ALL,
    ACL_PERMISSION_DENY,
    ACL_SUBJECT_CLIENT_ID,
    ACL_SUBJECT_USER,
    AclAction,
    AclRule,
    AclRuleRequest,
    ListAclRulesRequest,
)


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("AclRuleService")


def create(service: Any, **fields: Any) -> AclRule:
    rule: dict[str, Any] = {
        "tenant": "acme",
        "name": "one",
        "subject_kind": ACL_SUBJECT_USER,
        "subject": "ada",
        "topic": "a/#",
        "action": ACL_ACTION_ALL,
        "permission": ACL_PERMISSION_DENY,
        **fields,
    }
    created: AclRule = run(service.Create(AclRuleRequest(definition=AclRule(**rule)), None))
    return created


@pytest.mark.parametrize("action", AclAction.values()[1:])
def test_a_rule_has_any_action_of_the_fact_sheet(service: Any, action: int) -> None:
    """All, subscribe, publish, both, retain, quality of service."""
    assert AclAction.keys()[1:] == [
        "ACL_ACTION_ALL",
        "ACL_ACTION_SUBSCRIBE",
        "ACL_ACTION_PUBLISH",
        "ACL_ACTION_PUBSUB",
        "ACL_ACTION_RETAIN",
        "ACL_ACTION_QOS",
    ]
    assert create(service, action=action).action == action


@pytest.mark.parametrize("ip", ["", "10.0.0.1", "10.0.0.0/8", "10.1.2.3/8", "::1", "fe80::/10"])
def test_a_rule_is_for_an_address_a_network_or_any(service: Any, ip: str) -> None:
    assert create(service, ip=ip).ip == ip


@pytest.mark.parametrize("topic", ["#", "+", "a/+/b", "devices/%c/#", "users/%u", "$SYS/#"])
def test_a_rule_is_for_topics_with_wildcards_and_placeholders(service: Any, topic: str) -> None:
    assert create(service, topic=topic).topic == topic


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"subject_kind": 0}, "subject_kind"),
        ({"subject_kind": 9}, "subject_kind"),
        ({"subject": ""}, "subject"),
        ({"subject": "s" * 513}, "subject"),
        ({"topic": ""}, "topic"),
        ({"topic": "a/#/b"}, "topic"),
        ({"topic": "a+"}, "topic"),
        ({"topic": "$share/g/a"}, "topic"),
        ({"topic": "t" * 3_073}, "topic"),
        ({"ip": "10.0.0"}, "ip"),
        ({"ip": "localhost"}, "ip"),
        ({"action": 0}, "action"),
        ({"action": 7}, "action"),
        ({"permission": 0}, "permission"),
        ({"permission": 3}, "permission"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    service: Any, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        create(service, **fields)

    assert refusal.value.field == f"definition.{field}"


def test_lists_are_filtered_by_whom_a_rule_is_about(service: Any) -> None:
    create(service, name="one")
    create(service, name="two", subject_kind=ACL_SUBJECT_CLIENT_ID)
    create(service, name="three", subject="ben")

    def names(**fields: Any) -> list[str]:
        page = run(service.List(ListAclRulesRequest(tenant="acme", **fields), None))
        return [rule.name for rule in page.rules]

    assert names(subject_kind=ACL_SUBJECT_CLIENT_ID) == ["two"]
    assert names(subject="ada") == ["one", "two"]
    assert names(subject="ada", subject_kind=ACL_SUBJECT_USER) == ["one"]
