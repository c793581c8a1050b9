from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    REWRITE_ACTION_ALL,
    REWRITE_ACTION_PUBLISH,
    REWRITE_ACTION_SUBSCRIBE,
    ListRewriteRulesRequest,
    RewriteRule,
    RewriteRuleRequest,
)


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("RewriteRuleService")


def create(service: Any, **fields: Any) -> RewriteRule:
    rule: dict[str, Any] = {
        "tenant": "acme",
        "name": "one",
        "action": REWRITE_ACTION_ALL,
        "source_topic": "x/#",
        "target_topic": "y/$1",
        "expression": "^x/(.+)$",
        **fields,
    }
    request = RewriteRuleRequest(definition=RewriteRule(**rule))
    created: RewriteRule = run(service.Create(request, None))
    return created


@pytest.mark.parametrize(
    "missing", ["action", "source_topic", "target_topic", "expression", "name", "tenant"]
)
def test_a_rule_needs_all_that_the_fact_sheet_demands(service: Any, missing: str) -> None:
    with pytest.raises(Invalid) as refusal:
        create(service, **{missing: 0 if missing == "action" else ""})

    assert refusal.value.field == f"definition.{missing}"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"source_topic": "a/#/b"}, "source_topic"),
        ({"source_topic": "$share/g/a"}, "source_topic"),
        ({"target_topic": "y/$2"}, "target_topic"),
        ({"target_topic": "t" * 3_073}, "target_topic"),
        ({"expression": "("}, "expression"),
        ({"expression": "(" * 600 + ")" * 600}, "expression"),
        ({"expression": "x{99999999999}"}, "expression"),
        ({"action": 4}, "action"),
    ],
)
def test_a_rule_that_could_not_be_carried_out_is_refused(
    service: Any, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        create(service, **fields)

    assert refusal.value.field == f"definition.{field}"


def test_lists_are_filtered_by_action(service: Any) -> None:
    create(service, name="one")
    create(service, name="two", action=REWRITE_ACTION_PUBLISH)
    create(service, name="three", action=REWRITE_ACTION_SUBSCRIBE)

    request = ListRewriteRulesRequest(tenant="acme", action=REWRITE_ACTION_SUBSCRIBE)
    page = run(service.List(request, None))

    assert [rule.name for rule in page.rules] == ["three"]
