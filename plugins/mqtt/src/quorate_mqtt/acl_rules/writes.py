"""The commands that write rows as they are given."""

from typing import Final

from quorate_mqtt.acl_rules.validation import check_acl_rule
from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.vocabulary import Writes
from quorate_mqtt.v1.acl_rules_pb2 import (
    AclRule,
    CreateAclRulesCommand,
    PutAclRulesCommand,
    UpdateAclRulesCommand,
)

WRITES: Final = Writes(
    creation=Batch[AclRule](message=CreateAclRulesCommand, field="rules"),
    change=Batch[AclRule](message=UpdateAclRulesCommand, field="rules"),
    put=Batch[AclRule](message=PutAclRulesCommand, field="rules"),
    check=check_acl_rule,
)
