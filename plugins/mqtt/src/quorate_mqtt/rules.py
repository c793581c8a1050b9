"""The rules of tenants: ACLs, the blacklist, topic rewriting and automatic subscriptions."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any, Final

from quorate.plugin import (
    Invalid,
    Rejected,
    Resource,
    Serving,
    Storage,
    Timer,
    Txn,
    Verb,
    View,
    keys,
)
from quorate.plugin.advanced import still_due
from quorate.plugin.checking import check_choice, check_description, check_text
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.expressions import UnsafeExpressionError, check_linear
from quorate_mqtt.names import (
    LONGEST_TOPIC,
    check_identity,
    check_qos,
    check_topic_filter,
    when_given,
)
from quorate_mqtt.shards import GROUP
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1 import (
    acl_rules_pb2 as acl,
    auto_subscriptions_pb2 as auto,
    blacklist_pb2 as blacklist,
    rewrite_rules_pb2 as rewrite,
)

#: The timer of the blacklist's entries: its deadlines have the keys of their rows.
END: Final = "mqtt.blacklist_end"
#: The last millisecond that calendars can show.
LATEST_END_MS: Final = 253_402_300_799_999
_LONGEST_EXPRESSION: Final = 1_024
_MOST_RETAIN_HANDLING: Final = 2
_CAPTURED: Final = re.compile(r"\$(\d+)")
#: By kind of blacklist entry: the required form of its subject, and its parser.
_READ_AS: Final[Mapping[int, tuple[str, Callable[[str], object]]]] = {
    blacklist.BLACKLIST_KIND_IP: ("an address", ip_address),
    blacklist.BLACKLIST_KIND_CIDR: ("a network, as in 10.0.0.0/8", ip_network),
}


def check_acl_rule(rule: acl.AclRule, path: str) -> None:
    """Reject a rule without a valid subject, topic, action or permission."""
    check_description(f"{path}description", rule.description)
    check_choice(f"{path}subject_kind", rule.subject_kind, acl.AclSubject)
    check_identity(f"{path}subject", rule.subject)
    _check_topics(f"{path}topic", rule.topic)
    if rule.ip:
        wanted = "an address or a network, as in 10.0.0.0/8"
        _check_read(f"{path}ip", rule.ip, wanted, partial(ip_network, strict=False))
    check_choice(f"{path}action", rule.action, acl.AclAction)
    check_choice(f"{path}permission", rule.permission, acl.AclPermission)


def check_entry(entry: blacklist.BlacklistEntry, path: str) -> None:
    """Reject an entry without a valid kind, subject or end."""
    check_description(f"{path}description", entry.description)
    check_choice(f"{path}kind", entry.kind, blacklist.BlacklistKind)
    check_identity(f"{path}subject", entry.subject)
    if entry.ends_at_ms > LATEST_END_MS:
        reason = (
            f"must be at most {LATEST_END_MS}, the last millisecond of the year 9999, not "
            f"{entry.ends_at_ms}: leave it out for an entry that stays"
        )
        raise Invalid(f"{path}ends_at_ms", reason)
    if entry.kind in _READ_AS:
        _check_read(f"{path}subject", entry.subject, *_READ_AS[entry.kind])


def check_rewrite_rule(rule: rewrite.RewriteRule, path: str) -> None:
    """Reject a rule without valid topics, or with an invalid or unsafe expression."""
    check_description(f"{path}description", rule.description)
    check_choice(f"{path}action", rule.action, rewrite.RewriteAction)
    _check_topics(f"{path}source_topic", rule.source_topic)
    check_text(f"{path}target_topic", rule.target_topic, LONGEST_TOPIC)
    check_text(f"{path}expression", rule.expression, _LONGEST_EXPRESSION)
    try:
        groups = re.compile(rule.expression).groups
    except (re.error, OverflowError, RecursionError) as error:
        reason = f"must be a regular expression: {error}"
        raise Invalid(f"{path}expression", reason) from None
    try:
        check_linear(rule.expression)
    except UnsafeExpressionError as error:
        raise Invalid(f"{path}expression", str(error)) from None
    named = max(map(int, _CAPTURED.findall(rule.target_topic)), default=0)
    if named > groups:
        raise Invalid(
            f"{path}target_topic", f"names group ${named}, and the expression has {groups}"
        )


def check_auto_subscription(subscription: auto.AutoSubscription, path: str) -> None:
    """Reject a rule with an invalid subscription."""
    check_description(f"{path}description", subscription.description)
    check_topic_filter(f"{path}topic", subscription.topic)
    check_qos(f"{path}qos", subscription.qos)
    if subscription.retain_handling > _MOST_RETAIN_HANDLING:
        raise Invalid(f"{path}retain_handling", "must be 0, 1 or 2")
    if subscription.no_local and group_of(subscription.topic):
        raise Invalid(f"{path}no_local", "must not be set for a shared subscription: so says MQTT")


def keep_deadline(
    txn: Txn, before: blacklist.BlacklistEntry | None, after: blacklist.BlacklistEntry | None
) -> None:
    """Schedule the end of an entry; reject an entry that has already ended."""
    entry = after or before
    assert entry is not None
    ends_at_ms = after.ends_at_ms if after is not None else 0
    if 0 < ends_at_ms <= txn.proposed_at_ms:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"blacklist entry {entry.name} of {entry.tenant} ended at {ends_at_ms} ms, and it is "
            f"{txn.proposed_at_ms} ms: give a later end, or none",
        )
    txn.schedule(END, keys.pack(entry.tenant, entry.name), ends_at_ms or None)


def end_entries(txn: Txn, command: blacklist.EndBlacklistEntries) -> BatchReply:
    """Delete the entries with an end that is still due: an update may have moved it since."""
    for key in still_due(txn, END, command.keys):
        txn.delete(BLACKLIST_ENTRY.family, key)
        txn.schedule(END, key, None)
    return BatchReply(items=len(command.keys))


def _check_topics(field: str, topic_filter: str) -> None:
    check_topic_filter(field, topic_filter)
    if group_of(topic_filter):
        raise Invalid(field, "must not be shared: a rule is about topics")


def _check_read(field: str, text: str, wanted: str, read: Callable[[str], object]) -> None:
    try:
        read(text)
    except ValueError:
        raise Invalid(field, f"must be {wanted}, not {text!r}") from None


#: Of each resource: rules have names, and those of a tenant share a shard.
_OF_TENANT: Final[dict[str, Any]] = {
    "group": GROUP,
    "key": ("tenant", "name"),
    "shard_by": ("tenant",),
    "tenant": "tenant",
}

ACL_RULE: Final = Resource(
    family="mqtt.acl_rules",
    row=acl.AclRule,
    view=View(noun="ACL rule"),
    service=acl.DESCRIPTOR.services_by_name["AclRuleService"],
    **_OF_TENANT,
    check=check_acl_rule,
    serving=Serving(
        keep=when_given(
            subject_kind=partial(check_choice, choices=acl.AclSubject), subject=check_identity
        )
    ),
    examples=(
        acl.AclRule(
            tenant="acme",
            name="own",
            subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
            subject="*",
            topic="devices/%c/#",
            action=acl.ACL_ACTION_ALL,
            permission=acl.ACL_PERMISSION_ALLOW,
        ),
        acl.AclRule(
            tenant="globex",
            name="others",
            subject_kind=acl.ACL_SUBJECT_USER,
            subject="ada",
            topic="devices/+/commands",
            ip="10.0.0.0/8",
            action=acl.ACL_ACTION_PUBLISH,
            permission=acl.ACL_PERMISSION_DENY,
        ),
    ),
)

BLACKLIST_ENTRY: Final[Resource[blacklist.BlacklistEntry]] = Resource(
    family="mqtt.blacklist_entries",
    row=blacklist.BlacklistEntry,
    service=blacklist.DESCRIPTOR.services_by_name["BlacklistService"],
    **_OF_TENANT,
    check=check_entry,
    serving=Serving(
        keep=when_given(
            kind=partial(check_choice, choices=blacklist.BlacklistKind), subject=check_identity
        )
    ),
    storage=Storage(changed=keep_deadline),
    verbs={
        "End": Verb(
            apply_all=end_entries,
            message=blacklist.EndBlacklistEntries,
            examples=(keys.pack("acme", "ada"),),
        ),
    },
    examples=(
        blacklist.BlacklistEntry(
            tenant="acme",
            name="ada",
            kind=blacklist.BLACKLIST_KIND_CLIENT_ID,
            subject="ada",
            ends_at_ms=100_000,
        ),
        blacklist.BlacklistEntry(
            tenant="globex", name="lab", kind=blacklist.BLACKLIST_KIND_CIDR, subject="10.0.0.0/8"
        ),
    ),
)
BLACKLIST_END: Final = Timer(
    name=END, group=GROUP, due=lambda due: blacklist.EndBlacklistEntries(keys=due)
)

REWRITE_RULE: Final = Resource(
    family="mqtt.rewrite_rules",
    row=rewrite.RewriteRule,
    service=rewrite.DESCRIPTOR.services_by_name["RewriteRuleService"],
    **_OF_TENANT,
    check=check_rewrite_rule,
    serving=Serving(keep=when_given(action=partial(check_choice, choices=rewrite.RewriteAction))),
    examples=(
        rewrite.RewriteRule(
            tenant="acme",
            name="old-sensors",
            action=rewrite.REWRITE_ACTION_ALL,
            source_topic="sensors/#",
            target_topic="devices/$1",
            expression="^sensors/(.+)$",
        ),
        rewrite.RewriteRule(
            tenant="globex",
            name="flat",
            action=rewrite.REWRITE_ACTION_PUBLISH,
            source_topic="a/+/b",
            target_topic="ab",
            expression=".*",
        ),
    ),
)

AUTO_SUBSCRIPTION: Final = Resource(
    family="mqtt.auto_subscriptions",
    row=auto.AutoSubscription,
    view=View(noun="automatic subscription"),
    service=auto.DESCRIPTOR.services_by_name["AutoSubscriptionService"],
    **_OF_TENANT,
    check=check_auto_subscription,
    examples=(
        auto.AutoSubscription(tenant="acme", name="inbox", topic="inbox/%c", qos=1),
        auto.AutoSubscription(
            tenant="globex", name="news", topic="news/#", no_local=True, retain_handling=2
        ),
    ),
)
