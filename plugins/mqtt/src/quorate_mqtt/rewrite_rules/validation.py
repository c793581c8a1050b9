"""What is wrong with a rewrite rule whatever the rows say."""

import re
from typing import Final

from quorate.plugin import Invalid

from quorate_mqtt.names import (
    LONGEST_TOPIC,
    check_choice,
    check_description,
    check_text,
    check_topic_filter,
)
from quorate_mqtt.rewrite_rules.families import REWRITE_RULES
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.rewrite_rules_pb2 import RewriteAction, RewriteRule

_LONGEST_EXPRESSION: Final = 1_024
_GROUP: Final = re.compile(r"\$(\d+)")


def check_rewrite_rule(rule: RewriteRule, path: str = "") -> None:
    """Refuse a rule without topics, or with an expression that is none."""
    REWRITE_RULES.check(rule, path)
    check_description(f"{path}description", rule.description)
    check_choice(f"{path}action", rule.action, RewriteAction)
    check_topic_filter(f"{path}source_topic", rule.source_topic)
    if group_of(rule.source_topic):
        raise Invalid(f"{path}source_topic", "must not be shared: a rule is about topics")
    check_text(f"{path}target_topic", rule.target_topic, LONGEST_TOPIC)
    check_text(f"{path}expression", rule.expression, _LONGEST_EXPRESSION)
    try:
        groups = re.compile(rule.expression).groups
    except (re.error, OverflowError, RecursionError) as error:
        reason = f"must be a regular expression: {error}"
        raise Invalid(f"{path}expression", reason) from None
    named = max(map(int, _GROUP.findall(rule.target_topic)), default=0)
    if named > groups:
        raise Invalid(
            f"{path}target_topic", f"names group ${named}, and the expression has {groups}"
        )
