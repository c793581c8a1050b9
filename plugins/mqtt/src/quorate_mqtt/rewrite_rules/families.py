"""Where the rows are, and the commands that change them."""

from typing import Final

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.kind import Kind
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    DeleteRewriteRulesCommand,
    RewriteRule,
)

REWRITE_RULES: Final = Kind(
    family="mqtt.rewrite_rules",
    row=RewriteRule,
    noun="rewrite rule",
    deletion=Batch[DefinitionName](message=DeleteRewriteRulesCommand, field="names"),
)
