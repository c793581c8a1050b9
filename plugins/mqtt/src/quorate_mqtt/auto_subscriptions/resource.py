"""What automatic subscriptions declare."""

from typing import Final

from quorate_mqtt.auto_subscriptions.families import AUTO_SUBSCRIPTIONS
from quorate_mqtt.auto_subscriptions.service import SERVICE
from quorate_mqtt.auto_subscriptions.writes import WRITES
from quorate_mqtt.definitions import vocabulary
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription

_INBOX: Final = AutoSubscription(tenant="acme", name="inbox", topic="inbox/%c", qos=1)
_NEWS: Final = AutoSubscription(
    tenant="globex", name="news", topic="news/#", no_local=True, retain_handling=2
)

RESOURCE: Final = vocabulary.resource(
    AUTO_SUBSCRIPTIONS, WRITES, examples=(_INBOX, _NEWS), service=SERVICE
)
