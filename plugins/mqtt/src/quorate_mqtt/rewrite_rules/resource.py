"""What rewrite rules declare."""

from typing import Final

from quorate_mqtt.definitions import vocabulary
from quorate_mqtt.rewrite_rules.families import REWRITE_RULES
from quorate_mqtt.rewrite_rules.service import SERVICE
from quorate_mqtt.rewrite_rules.writes import WRITES
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    REWRITE_ACTION_ALL,
    REWRITE_ACTION_PUBLISH,
    RewriteRule,
)

_OLD: Final = RewriteRule(
    tenant="acme",
    name="old-sensors",
    action=REWRITE_ACTION_ALL,
    source_topic="sensors/#",
    target_topic="devices/$1",
    expression="^sensors/(.+)$",
)
_FLAT: Final = RewriteRule(
    tenant="globex",
    name="flat",
    action=REWRITE_ACTION_PUBLISH,
    source_topic="a/+/b",
    target_topic="ab",
    expression=".*",
)

RESOURCE: Final = vocabulary.resource(
    REWRITE_RULES, WRITES, examples=(_OLD, _FLAT), service=SERVICE
)
