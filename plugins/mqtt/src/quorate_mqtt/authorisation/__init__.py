"""The decision whether a client may connect, publish or subscribe, for nodes and brokers."""

from quorate_mqtt.authorisation.access import Access, Action
from quorate_mqtt.authorisation.policy import Decision, Policy, Reason

__all__ = ["Access", "Action", "Decision", "Policy", "Reason"]
