"""The commands that write rows as they are given."""

from typing import Final

from quorate_mqtt.auto_subscriptions.validation import check_subscription
from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.vocabulary import Writes
from quorate_mqtt.v1.auto_subscriptions_pb2 import (
    AutoSubscription,
    CreateAutoSubscriptionsCommand,
    PutAutoSubscriptionsCommand,
    UpdateAutoSubscriptionsCommand,
)

WRITES: Final = Writes(
    creation=Batch[AutoSubscription](message=CreateAutoSubscriptionsCommand, field="subscriptions"),
    change=Batch[AutoSubscription](message=UpdateAutoSubscriptionsCommand, field="subscriptions"),
    put=Batch[AutoSubscription](message=PutAutoSubscriptionsCommand, field="subscriptions"),
    check=check_subscription,
)
