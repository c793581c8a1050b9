"""Decisions: examples by name, and properties over any rules and entries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from quorate.plugin import Invalid
from quorate_mqtt.authorisation import Access, Action, Decision, Policy, Reason
from quorate_mqtt.authorisation.access import take_apart
from quorate_mqtt.authorisation.policy import decide
from quorate_mqtt.authorisation.rules import Ban, Rule, ban_of, rule_of
from quorate_mqtt.topic_filters import matches
from quorate_mqtt.v1 import acl_rules_pb2 as acl, blacklist_pb2 as blacklist
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry

CLIENT, USER = acl.ACL_SUBJECT_CLIENT_ID, acl.ACL_SUBJECT_USER
ALL, PUBSUB = acl.ACL_ACTION_ALL, acl.ACL_ACTION_PUBSUB
PUBLISH, SUBSCRIBE = acl.ACL_ACTION_PUBLISH, acl.ACL_ACTION_SUBSCRIBE
RETAIN, QOS = acl.ACL_ACTION_RETAIN, acl.ACL_ACTION_QOS


def rule(
    name: str,
    *,
    allows: bool,
    topic: str,
    kind: acl.AclSubject = CLIENT,
    subject: str = "*",
    action: acl.AclAction = ALL,
    ip: str = "",
) -> Rule:
    permission = acl.ACL_PERMISSION_ALLOW if allows else acl.ACL_PERMISSION_DENY
    return rule_of(
        AclRule(
            name=name,
            subject_kind=kind,
            subject=subject,
            topic=topic,
            ip=ip,
            action=action,
            permission=permission,
        )
    )


def ban(kind: blacklist.BlacklistKind | str, subject: str, name: str = "b") -> Ban:
    return ban_of(BlacklistEntry(name=name, kind=kind, subject=subject))


def allow(name: str, topic: str, **what: object) -> Rule:
    return rule(name, allows=True, topic=topic, **what)  # type: ignore[arg-type]


def deny(name: str, topic: str, **what: object) -> Rule:
    return rule(name, allows=False, topic=topic, **what)  # type: ignore[arg-type]


def policy(*parts: Rule | Ban, superusers: Sequence[str] = ()) -> Policy:
    made = Policy()
    for part in parts:
        if isinstance(part, Rule):
            made.put_rule(part)
        else:
            made.put_ban(part)
    for name in superusers:
        made.put_superuser(name)
    return made


def publish(topic: str, **who: object) -> Access:
    return Access(action=Action.PUBLISH, topic=topic, **{"client_id": "c1", **who})  # type: ignore[arg-type]


def subscribe(topic: str, **who: object) -> Access:
    return Access(action=Action.SUBSCRIBE, topic=topic, **{"client_id": "c1", **who})  # type: ignore[arg-type]


def connect(**who: object) -> Access:
    return Access(action=Action.CONNECT, **{"client_id": "c1", **who})  # type: ignore[arg-type]


def decided(made: Policy, access: Access) -> tuple[bool, Reason, str]:
    decision = made.decide(access, allow_unmatched=False)
    return decision.allowed, decision.reason, decision.decided_by


# What comes first.


def test_the_blacklist_keeps_out_superusers_too() -> None:
    made = policy(ban(blacklist.BLACKLIST_KIND_USER, "root"), superusers=["root"])

    for access in (
        connect(username="root"),
        publish("a", username="root"),
        subscribe("a", username="root"),
    ):
        assert decided(made, access) == (False, Reason.BLACKLISTED, "b")


def test_superusers_are_denied_nothing_by_rules() -> None:
    made = policy(deny("d", "#"), superusers=["root"])

    assert decided(made, publish("a", username="root")) == (True, Reason.SUPERUSER, "root")
    assert decided(made, publish("a", username="eve")) == (False, Reason.DENIED_BY_RULE, "d")
    made.drop_superuser("root")
    assert decided(made, publish("a", username="root")) == (False, Reason.DENIED_BY_RULE, "d")


def test_deny_comes_before_allow_whatever_the_names() -> None:
    made = policy(allow("a", "x/#"), deny("z", "x/y"))

    assert decided(made, publish("x/y")) == (False, Reason.DENIED_BY_RULE, "z")
    assert decided(made, publish("x/z")) == (True, Reason.ALLOWED_BY_RULE, "a")


@pytest.mark.parametrize("unmatched", [True, False])
def test_where_no_rule_says_anything_whoever_asks_has_decided(unmatched: bool) -> None:
    made = policy(allow("a", "x"))

    assert made.decide(publish("y"), allow_unmatched=unmatched) == Decision(
        allowed=unmatched, reason=Reason.NO_RULE
    )


def test_rules_keep_nobody_from_connecting() -> None:
    assert decided(policy(deny("d", "#")), connect()) == (True, Reason.NOT_BLACKLISTED, "")


def test_of_several_rules_the_first_in_order_is_named() -> None:
    made = policy(deny("d2", "x"), deny("d1", "#"), allow("a2", "y"), allow("a1", "y"))

    assert decided(made, publish("x"))[2] == "d1"
    made.drop_rule("d1")
    assert decided(made, publish("x"))[2] == "d2"
    assert decided(made, publish("y"))[2] == "a1"


# Who.


def test_a_rule_is_about_its_subject_alone() -> None:
    made = policy(
        allow("client", "x", subject="c1"),
        allow("user", "y", kind=USER, subject="ann"),
        allow("users", "z", kind=USER),
    )

    assert decided(made, publish("x"))[2] == "client"
    assert decided(made, publish("x", client_id="c2", username="c1"))[0] is False
    assert decided(made, publish("y", username="ann"))[2] == "user"
    assert decided(made, publish("y", client_id="ann", username="bob"))[0] is False
    assert decided(made, publish("z", username="bob"))[2] == "users"
    assert decided(made, publish("z"))[0] is False, "a client without a user name is no user"


def test_a_rule_may_be_about_an_address_or_a_network() -> None:
    made = policy(deny("one", "x", ip="10.0.0.1"), deny("net", "y", ip="10.0.0.0/8"))

    assert decided(made, publish("x", address="10.0.0.1"))[2] == "one"
    assert decided(made, publish("x", address="::ffff:10.0.0.1"))[2] == "one"
    assert decided(made, publish("x", address="10.0.0.2"))[1] is Reason.NO_RULE
    assert decided(made, publish("y", address="10.9.9.9"))[2] == "net"
    assert decided(made, publish("y", address="::1"))[1] is Reason.NO_RULE
    assert decided(made, publish("y"))[1] is Reason.NO_RULE, "an address that is not known"


@pytest.mark.parametrize(
    ("kind", "subject", "kept_out", "let_in"),
    [
        ("CLIENT_ID", "c1", connect(), connect(client_id="c12", username="c1")),
        ("USER", "eve", connect(username="eve"), connect(client_id="eve")),
        ("CLIENT_ID_PATTERN", "c*1", connect(client_id="cx1"), connect(client_id="c1x")),
        ("USER_PATTERN", "*", connect(username="eve"), connect()),
        ("IP", "10.0.0.7", connect(address="10.0.0.7"), connect(address="10.0.0.8")),
        ("IP", "::ffff:10.0.0.7", connect(address="10.0.0.7"), connect(address="10.0.0.8")),
        ("CIDR", "fe80::/16", connect(address="fe80::7"), connect()),
    ],
)
def test_an_entry_keeps_out_whom_it_names(
    kind: str, subject: str, kept_out: Access, let_in: Access
) -> None:
    made = policy(ban(f"BLACKLIST_KIND_{kind}", subject))

    assert decided(made, kept_out) == (False, Reason.BLACKLISTED, "b")
    assert decided(made, let_in)[0] is True
    made.drop_ban("b")
    assert decided(made, kept_out)[0] is True


# What.


@pytest.mark.parametrize(
    ("action", "matching"),
    [
        (ALL, {"publish", "retain", "publish 1", "subscribe", "subscribe 2"}),
        (
            PUBSUB,
            {"publish", "retain", "publish 1", "subscribe", "subscribe 2"},
        ),
        (PUBLISH, {"publish", "retain", "publish 1"}),
        (SUBSCRIBE, {"subscribe", "subscribe 2"}),
        (RETAIN, {"retain"}),
        (QOS, {"publish 1", "subscribe 2"}),
    ],
)
def test_a_rule_is_about_its_action_alone(action: acl.AclAction, matching: set[str]) -> None:
    made = policy(deny("d", "x", action=action))
    accesses = {
        "publish": publish("x"),
        "retain": publish("x", retain=True),
        "publish 1": publish("x", qos=1),
        "subscribe": subscribe("x"),
        "subscribe 2": subscribe("x", qos=2),
    }

    denied = {name for name, access in accesses.items() if not made.decide(access).allowed}

    assert denied == matching


def test_allowing_a_part_of_a_filter_does_not_allow_the_filter() -> None:
    made = policy(allow("a", "x/+"))

    assert decided(made, subscribe("x/+"))[0] is True
    assert decided(made, subscribe("x/y"))[0] is True
    assert decided(made, subscribe("x/#"))[0] is False


def test_denying_a_part_of_a_filter_denies_the_filter() -> None:
    made = policy(allow("a", "#"), deny("d", "x/secret"))

    assert decided(made, subscribe("x/+")) == (False, Reason.DENIED_BY_RULE, "d")
    assert decided(made, subscribe("y/+"))[0] is True


def test_a_shared_subscription_is_judged_by_its_filter() -> None:
    made = policy(deny("d", "x"))

    assert decided(made, subscribe("$share/group/x"))[2] == "d"


def test_wildcards_do_not_reach_the_topics_of_the_broker() -> None:
    made = policy(allow("a", "#"))

    assert decided(made, subscribe("$SYS/#"))[1] is Reason.NO_RULE
    assert decided(made, subscribe("#"))[0] is True


# Placeholders.


def test_placeholders_stand_for_the_names_of_the_client() -> None:
    made = policy(allow("c", "clients/%c/#"), allow("u", "users/of-%u"))

    assert decided(made, publish("clients/c1/a"))[2] == "c"
    assert decided(made, publish("clients/c2/a"))[0] is False
    assert decided(made, publish("users/of-ann", username="ann"))[2] == "u"
    assert decided(made, publish("users/of-"))[0] is False


@pytest.mark.parametrize(
    ("client_id", "topic"),
    [("c1/private", "clients/c1/private"), ("+", "clients/+"), ("#", "clients/#")],
)
def test_no_client_reaches_another_by_its_name(client_id: str, topic: str) -> None:
    made = policy(allow("c", "clients/%c"))

    assert decided(made, subscribe(topic, client_id=client_id))[0] is False


def test_no_client_reaches_the_topics_of_the_broker_by_its_name() -> None:
    made = policy(allow("c", "%c/#"))

    assert decided(made, subscribe("$SYS/#", client_id="$SYS"))[0] is False


def test_a_name_is_not_searched_for_placeholders() -> None:
    made = policy(allow("c", "x/%c"))

    assert decided(made, publish("x/ann", client_id="%u", username="ann"))[0] is False
    assert decided(made, publish("x/%u", client_id="%u", username="ann"))[0] is True


def test_a_name_with_a_slash_does_not_slip_through_what_is_denied() -> None:
    made = policy(allow("a", "#"), deny("d", "private/%c"))

    assert decided(made, publish("private/a/b", client_id="a/b"))[2] == "d"


# What makes no sense.


@pytest.mark.parametrize(
    ("access", "field"),
    [
        (connect(client_id=""), "client_id"),
        (connect(topic="x"), "topic"),
        (connect(address="10.0.0.1:1883"), "address"),
        (publish(""), "topic"),
        (publish("x/+"), "topic"),
        (subscribe("x/#/y"), "topic"),
        (publish("x", qos=3), "qos"),
    ],
)
def test_what_makes_no_sense_is_refused(access: Access, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        policy().decide(access)

    assert refusal.value.field == field


# Properties.

NAMES = st.sampled_from(["a", "b", "a/b", "*", "%u", "$s"])
TOPICS = st.lists(st.sampled_from(["a", "b", "$s", "%c", "%u"]), min_size=1, max_size=2).map(
    "/".join
)
FILTERS = st.builds(
    lambda levels, rest: "/".join([*levels, *rest]),
    st.lists(st.sampled_from(["a", "b", "$s", "%c", "x%u", "+"]), min_size=1, max_size=2),
    st.sampled_from([[], ["#"]]),
) | st.just("#")
NETWORKS = st.sampled_from(["10.0.0.0/8", "10.0.0.1"])
ADDRESSES = st.sampled_from(["", "10.0.0.1", "10.0.0.2", "::1"])
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(["r1", "r2", "r3", "r4"]),
        allows=st.booleans(),
        topic=FILTERS,
        kind=st.sampled_from([CLIENT, USER]),
        subject=NAMES,
        action=st.sampled_from([ALL, PUBSUB, PUBLISH, SUBSCRIBE, RETAIN, QOS]),
        ip=st.just("") | NETWORKS,
    ),
    max_size=4,
)
BY_NAME = st.sampled_from(
    [
        blacklist.BLACKLIST_KIND_CLIENT_ID,
        blacklist.BLACKLIST_KIND_USER,
        blacklist.BLACKLIST_KIND_CLIENT_ID_PATTERN,
        blacklist.BLACKLIST_KIND_USER_PATTERN,
    ]
)
BY_ADDRESS = st.sampled_from([blacklist.BLACKLIST_KIND_IP, blacklist.BLACKLIST_KIND_CIDR])
BAN_NAMES = st.sampled_from(["b1", "b2"])
BANS = st.lists(
    st.builds(ban, BY_NAME, NAMES, BAN_NAMES) | st.builds(ban, BY_ADDRESS, NETWORKS, BAN_NAMES),
    max_size=2,
)
USERNAMES = st.just("") | NAMES
SUBSCRIPTIONS = st.builds(
    Access,
    client_id=NAMES,
    username=USERNAMES,
    address=ADDRESSES,
    action=st.just(Action.SUBSCRIBE),
    topic=FILTERS,
    qos=st.integers(0, 2),
)
PUBLICATIONS = st.builds(
    Access,
    client_id=NAMES,
    username=USERNAMES,
    address=ADDRESSES,
    action=st.just(Action.PUBLISH),
    topic=TOPICS,
    qos=st.integers(0, 2),
    retain=st.booleans(),
)


@given(
    rules=RULES,
    bans=BANS,
    superusers=st.sets(NAMES),
    access=SUBSCRIPTIONS | PUBLICATIONS,
    unmatched=st.booleans(),
)
def test_what_is_found_quickly_decides_as_all_rules_do(
    rules: list[Rule], bans: list[Ban], superusers: set[str], access: Access, unmatched: bool
) -> None:
    made = policy(*rules, *bans, superusers=sorted(superusers))
    expected = decide(
        take_apart(access),
        is_superuser=access.username in superusers,
        # The later one of a name is in force.
        bans={each.name: each for each in bans}.values(),
        rules={each.name: each for each in rules}.values(),
        allow_unmatched=unmatched,
    )

    assert made.decide(access, allow_unmatched=unmatched) == expected


@given(rules=RULES, subscription=SUBSCRIPTIONS, topic=TOPICS, unmatched=st.booleans())
def test_whoever_may_subscribe_to_a_filter_may_to_each_of_its_topics(
    rules: list[Rule], subscription: Access, topic: str, unmatched: bool
) -> None:
    made = policy(*rules)
    one = Access(
        client_id=subscription.client_id,
        username=subscription.username,
        address=subscription.address,
        action=Action.SUBSCRIBE,
        topic=topic,
        qos=subscription.qos,
    )

    if made.decide(subscription, allow_unmatched=unmatched).allowed and matches(
        subscription.topic, topic
    ):
        decision = made.decide(one, allow_unmatched=unmatched)
        assert decision.allowed, decision


@given(rules=RULES, more=RULES, access=SUBSCRIPTIONS | PUBLICATIONS)
def test_another_rule_that_denies_allows_nothing(
    rules: list[Rule], more: list[Rule], access: Access
) -> None:
    before = policy(*rules).decide(access, allow_unmatched=False)
    named = {each.name for each in rules}
    denying = [each for each in more if not each.allows and each.name not in named]

    after = policy(*rules, *denying).decide(access, allow_unmatched=False)

    assert before.allowed or not after.allowed


@given(rules=RULES, bans=BANS, access=SUBSCRIPTIONS | PUBLICATIONS)
def test_what_was_dropped_decides_nothing(
    rules: list[Rule], bans: list[Ban], access: Access
) -> None:
    made = policy(*rules, *bans)
    for each in rules:
        made.drop_rule(each.name)
    for entry in bans:
        made.drop_ban(entry.name)

    assert made.decide(access) == Decision(allowed=True, reason=Reason.NO_RULE)
