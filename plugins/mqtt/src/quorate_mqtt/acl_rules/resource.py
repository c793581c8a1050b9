"""What ACL rules declare."""

from typing import Final

from quorate_mqtt.acl_rules.families import ACL_RULES
from quorate_mqtt.acl_rules.service import SERVICE
from quorate_mqtt.acl_rules.writes import WRITES
from quorate_mqtt.definitions import vocabulary
from quorate_mqtt.v1.acl_rules_pb2 import (
    ACL_ACTION_ALL,
    ACL_ACTION_PUBLISH,
    ACL_PERMISSION_ALLOW,
    ACL_PERMISSION_DENY,
    ACL_SUBJECT_CLIENT_ID,
    ACL_SUBJECT_USER,
    AclRule,
)

_OWN: Final = AclRule(
    tenant="acme",
    name="own",
    subject_kind=ACL_SUBJECT_CLIENT_ID,
    subject="*",
    topic="devices/%c/#",
    action=ACL_ACTION_ALL,
    permission=ACL_PERMISSION_ALLOW,
)
_OTHERS: Final = AclRule(
    tenant="globex",
    name="others",
    subject_kind=ACL_SUBJECT_USER,
    subject="ada",
    topic="devices/+/commands",
    ip="10.0.0.0/8",
    action=ACL_ACTION_PUBLISH,
    permission=ACL_PERMISSION_DENY,
)

RESOURCE: Final = vocabulary.resource(ACL_RULES, WRITES, examples=(_OWN, _OTHERS), service=SERVICE)
