"""The commands that write rows as they are given."""

from typing import Final

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.vocabulary import Writes
from quorate_mqtt.rewrite_rules.validation import check_rewrite_rule
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    CreateRewriteRulesCommand,
    PutRewriteRulesCommand,
    RewriteRule,
    UpdateRewriteRulesCommand,
)

WRITES: Final = Writes(
    creation=Batch[RewriteRule](message=CreateRewriteRulesCommand, field="rules"),
    change=Batch[RewriteRule](message=UpdateRewriteRulesCommand, field="rules"),
    put=Batch[RewriteRule](message=PutRewriteRulesCommand, field="rules"),
    check=check_rewrite_rule,
)
