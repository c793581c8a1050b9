"""What is wrong with an automatic subscription whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid

from quorate_mqtt.auto_subscriptions.families import AUTO_SUBSCRIPTIONS
from quorate_mqtt.names import check_description, check_qos, check_topic_filter
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription

_MOST_RETAIN_HANDLING: Final = 2


def check_subscription(subscription: AutoSubscription, path: str = "") -> None:
    """Refuse a rule that no client could subscribe by."""
    AUTO_SUBSCRIPTIONS.check(subscription, path)
    check_description(f"{path}description", subscription.description)
    check_topic_filter(f"{path}topic", subscription.topic)
    check_qos(f"{path}qos", subscription.qos)
    if subscription.retain_handling > _MOST_RETAIN_HANDLING:
        raise Invalid(f"{path}retain_handling", "must be 0, 1 or 2")
    if subscription.no_local and group_of(subscription.topic):
        raise Invalid(f"{path}no_local", "must not be set for a shared subscription: so says MQTT")
