"""`quorate mqtt acl`, `blacklist`, `rewrites`, `auto-subscriptions` and `check`."""

from __future__ import annotations

import time
from typing import Final

import click
from quorate.plugin import Console

from quorate_mqtt.cli.showing import limited, show, show_some, words_of
from quorate_mqtt.client import Access, Action, SyncMqtt
from quorate_mqtt.v1 import acl_rules_pb2, blacklist_pb2, rewrite_rules_pb2
from quorate_mqtt.v1.acl_rules_pb2 import AclRule, ListAclRulesRequest
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription, ListAutoSubscriptionsRequest
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry, ListBlacklistEntriesRequest
from quorate_mqtt.v1.rewrite_rules_pb2 import ListRewriteRulesRequest, RewriteRule

_SUBJECTS: Final = words_of(acl_rules_pb2.DESCRIPTOR.enum_types_by_name["AclSubject"])
_ACTIONS: Final = words_of(acl_rules_pb2.DESCRIPTOR.enum_types_by_name["AclAction"])
_PERMISSIONS: Final = words_of(acl_rules_pb2.DESCRIPTOR.enum_types_by_name["AclPermission"])
_KINDS: Final = words_of(blacklist_pb2.DESCRIPTOR.enum_types_by_name["BlacklistKind"])
_REWRITES: Final = words_of(rewrite_rules_pb2.DESCRIPTOR.enum_types_by_name["RewriteAction"])
#: A hundred years: what is to last longer has no end.
_LONGEST_S: Final = 100 * 365 * 86_400

_tenant = click.argument("tenant")
_any_tenant = click.argument("tenant", default="")
_name = click.argument("name")
_prefix = click.option("--prefix", default="", help="Only those whose names begin with this.")
_description = click.option("--description", default="")
_replace = click.option(
    "--replace", is_flag=True, help="Replace one of that name, if there is one."
)
_missing_ok = click.option(
    "--missing-ok", is_flag=True, help="One that is not there is no failure."
)
_qos = click.option("--qos", type=click.IntRange(0, 2), default=0, show_default=True)


@click.group("acl")
def acl() -> None:
    """Say what clients may do, and what not; a rule that denies comes before those that allow."""


@acl.command("list")
@_any_tenant
@_prefix
@limited
@click.pass_obj
def list_acl(console: Console, tenant: str, prefix: str, limit: int) -> None:
    """List the rules of TENANT, or of all tenants."""
    request = ListAclRulesRequest(tenant=tenant, prefix=prefix)
    show_some(console, SyncMqtt(console.client()).acl_rules.list(request), limit)


@acl.command("add")
@_tenant
@_name
@click.argument("permission", type=click.Choice(list(_PERMISSIONS)))
@click.argument("action", type=click.Choice(list(_ACTIONS)))
@click.argument("topic")
@click.option(
    "--subject-kind", type=click.Choice(list(_SUBJECTS)), default="client-id", show_default=True
)
@click.option("--subject", default="*", show_default=True, help="A name; * stands for any.")
@click.option("--ip", default="", help="An address or a network in CIDR form; default: any.")
@_description
@_replace
@click.pass_obj
def add_acl(
    console: Console,
    tenant: str,
    name: str,
    permission: str,
    action: str,
    topic: str,
    subject_kind: str,
    subject: str,
    ip: str,
    description: str,
    replace: bool,
) -> None:
    """Make the rule NAME of TENANT about the topics of the filter TOPIC."""
    rule = AclRule(
        tenant=tenant,
        name=name,
        description=description,
        subject_kind=_SUBJECTS[subject_kind],
        subject=subject,
        topic=topic,
        ip=ip,
        action=_ACTIONS[action],
        permission=_PERMISSIONS[permission],
    )
    rules = SyncMqtt(console.client()).acl_rules
    show(console, [(rules.put if replace else rules.create)(rule)])


@acl.command("delete")
@_tenant
@_name
@_missing_ok
@click.pass_obj
def delete_acl(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Delete the rule NAME of TENANT."""
    SyncMqtt(console.client()).acl_rules.delete(tenant, name, missing_ok=missing_ok)


@click.group("blacklist")
def blacklist() -> None:
    """Keep clients out."""


@blacklist.command("list")
@_any_tenant
@_prefix
@limited
@click.pass_obj
def list_blacklist(console: Console, tenant: str, prefix: str, limit: int) -> None:
    """List the entries of TENANT, or of all tenants."""
    request = ListBlacklistEntriesRequest(tenant=tenant, prefix=prefix)
    show_some(console, SyncMqtt(console.client()).blacklist.list(request), limit)


@blacklist.command("add")
@_tenant
@_name
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("subject")
@click.option(
    "--for",
    "seconds",
    type=click.IntRange(1, _LONGEST_S),
    metavar="S",
    help="For how many seconds; default: until the entry is deleted.",
)
@_description
@_replace
@click.pass_obj
def add_blacklist(
    console: Console,
    tenant: str,
    name: str,
    kind: str,
    subject: str,
    seconds: int | None,
    description: str,
    replace: bool,
) -> None:
    """Keep whom KIND and SUBJECT name from all that is TENANT's, under the entry NAME."""
    ends_at_ms = 0 if seconds is None else round((time.time() + seconds) * 1_000)
    entry = BlacklistEntry(
        tenant=tenant,
        name=name,
        description=description,
        kind=_KINDS[kind],
        subject=subject,
        ends_at_ms=ends_at_ms,
    )
    entries = SyncMqtt(console.client()).blacklist
    show(console, [(entries.put if replace else entries.create)(entry)])


@blacklist.command("delete")
@_tenant
@_name
@_missing_ok
@click.pass_obj
def delete_blacklist(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Delete the entry NAME of TENANT."""
    SyncMqtt(console.client()).blacklist.delete(tenant, name, missing_ok=missing_ok)


@click.group("rewrites")
def rewrites() -> None:
    """Turn topics into others."""


@rewrites.command("list")
@_any_tenant
@_prefix
@limited
@click.pass_obj
def list_rewrites(console: Console, tenant: str, prefix: str, limit: int) -> None:
    """List the rules of TENANT, or of all tenants."""
    request = ListRewriteRulesRequest(tenant=tenant, prefix=prefix)
    show_some(console, SyncMqtt(console.client()).rewrite_rules.list(request), limit)


@rewrites.command("add")
@_tenant
@_name
@click.argument("action", type=click.Choice(list(_REWRITES)))
@click.argument("source")
@click.argument("target")
@click.argument("expression")
@_description
@_replace
@click.pass_obj
def add_rewrite(
    console: Console,
    tenant: str,
    name: str,
    action: str,
    source: str,
    target: str,
    expression: str,
    description: str,
    replace: bool,
) -> None:
    """Turn topics of the filter SOURCE into TARGET, by the regular expression EXPRESSION."""
    rule = RewriteRule(
        tenant=tenant,
        name=name,
        description=description,
        action=_REWRITES[action],
        source_topic=source,
        target_topic=target,
        expression=expression,
    )
    rules = SyncMqtt(console.client()).rewrite_rules
    show(console, [(rules.put if replace else rules.create)(rule)])


@rewrites.command("delete")
@_tenant
@_name
@_missing_ok
@click.pass_obj
def delete_rewrite(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Delete the rule NAME of TENANT."""
    SyncMqtt(console.client()).rewrite_rules.delete(tenant, name, missing_ok=missing_ok)


@click.group("auto-subscriptions")
def auto_subscriptions() -> None:
    """Subscribe clients without being asked."""


@auto_subscriptions.command("list")
@_any_tenant
@_prefix
@limited
@click.pass_obj
def list_auto_subscriptions(console: Console, tenant: str, prefix: str, limit: int) -> None:
    """List the rules of TENANT, or of all tenants."""
    request = ListAutoSubscriptionsRequest(tenant=tenant, prefix=prefix)
    show_some(console, SyncMqtt(console.client()).auto_subscriptions.list(request), limit)


@auto_subscriptions.command("add")
@_tenant
@_name
@click.argument("topic")
@_qos
@_description
@_replace
@click.pass_obj
def add_auto_subscription(
    console: Console, tenant: str, name: str, topic: str, qos: int, description: str, replace: bool
) -> None:
    """Subscribe every client of TENANT to the filter TOPIC when it connects."""
    rule = AutoSubscription(tenant=tenant, name=name, description=description, topic=topic, qos=qos)
    rules = SyncMqtt(console.client()).auto_subscriptions
    show(console, [(rules.put if replace else rules.create)(rule)])


@auto_subscriptions.command("delete")
@_tenant
@_name
@_missing_ok
@click.pass_obj
def delete_auto_subscription(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Delete the rule NAME of TENANT."""
    SyncMqtt(console.client()).auto_subscriptions.delete(tenant, name, missing_ok=missing_ok)


@click.command("check")
@_tenant
@click.argument("client_id")
@click.argument("action", type=click.Choice([action.value for action in Action]))
@click.argument("topic", default="")
@click.option("--username", default="", help="The user name that the client gives.")
@click.option("--address", default="", help="The IP address that it comes from.")
@_qos
@click.option("--retain", is_flag=True, help="The message is to be retained.")
@click.option("--deny-unmatched", is_flag=True, help="Deny where no rule says anything.")
@click.pass_obj
def check(
    console: Console,
    tenant: str,
    client_id: str,
    action: str,
    topic: str,
    username: str,
    address: str,
    qos: int,
    retain: bool,
    deny_unmatched: bool,
) -> None:
    """Show whether CLIENT_ID may do ACTION with TOPIC, and which rule decides that."""
    access = Access(
        client_id=client_id,
        username=username,
        address=address,
        action=Action(action),
        topic=topic,
        qos=qos,
        retain=retain,
    )
    decision = SyncMqtt(console.client()).check_access(
        tenant, access, allow_unmatched=not deny_unmatched
    )
    console.print(
        [
            {
                "allowed": decision.allowed,
                "reason": decision.reason.value,
                "decided_by": decision.decided_by,
            }
        ]
    )
