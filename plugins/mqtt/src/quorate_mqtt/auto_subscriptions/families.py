"""Where the rows are, and the commands that change them."""

from typing import Final

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.kind import Kind
from quorate_mqtt.v1.auto_subscriptions_pb2 import (
    AutoSubscription,
    DeleteAutoSubscriptionsCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

AUTO_SUBSCRIPTIONS: Final = Kind(
    family="mqtt.auto_subscriptions",
    row=AutoSubscription,
    noun="automatic subscription",
    deletion=Batch[DefinitionName](message=DeleteAutoSubscriptionsCommand, field="names"),
)
