"""Where the rows are, and the commands that change them."""

from typing import Final

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.kind import Kind
from quorate_mqtt.v1.acl_rules_pb2 import (
    AclRule,
    DeleteAclRulesCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

ACL_RULES: Final = Kind(
    family="mqtt.acl_rules",
    row=AclRule,
    noun="ACL rule",
    deletion=Batch[DefinitionName](message=DeleteAclRulesCommand, field="names"),
)
