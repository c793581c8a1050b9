"""What is wrong with an ACL rule whatever the rows say."""

from ipaddress import ip_network

from quorate.plugin import Invalid

from quorate_mqtt.acl_rules.families import ACL_RULES
from quorate_mqtt.names import check_choice, check_description, check_identity, check_topic_filter
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.acl_rules_pb2 import AclAction, AclPermission, AclRule, AclSubject


def check_acl_rule(rule: AclRule, path: str = "") -> None:
    """Refuse a rule that does not say whom it is about, what they may do, and with which topics."""
    ACL_RULES.check(rule, path)
    check_description(f"{path}description", rule.description)
    check_choice(f"{path}subject_kind", rule.subject_kind, AclSubject)
    check_identity(f"{path}subject", rule.subject)
    check_topic_filter(f"{path}topic", rule.topic)
    if group_of(rule.topic):
        raise Invalid(f"{path}topic", "must not be shared: a rule is about topics")
    if rule.ip:
        _check_network(f"{path}ip", rule.ip)
    check_choice(f"{path}action", rule.action, AclAction)
    check_choice(f"{path}permission", rule.permission, AclPermission)


def _check_network(field: str, text: str) -> None:
    try:
        ip_network(text, strict=False)
    except ValueError:
        reason = f"must be an address or a network, not {text!r}: 10.0.0.0/8 is one"
        raise Invalid(field, reason) from None
