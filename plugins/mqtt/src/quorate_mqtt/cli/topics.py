"""`quorate mqtt topics` and `retained`."""

from __future__ import annotations

from functools import partial

import click
from quorate.plugin import Console

from quorate_mqtt.cli.showing import limited, show, show_some
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.retained_messages_pb2 import ListRetainedMessagesRequest
from quorate_mqtt.v1.topics_pb2 import ListTopicsRequest, Topic

#: The fields have 32 bits.
_count = partial(click.IntRange, max=(1 << 32) - 1)
_filter = click.option("--filter", "topic_filter", default="", help="Only topics of this filter.")


@click.group("topics")
def topics() -> None:
    """See and change topics."""


@topics.command("list")
@click.argument("tenant", default="")
@click.option("--prefix", default="", help="Only topics whose names begin with this.")
@_filter
@limited
@click.pass_obj
def list_topics(console: Console, tenant: str, prefix: str, topic_filter: str, limit: int) -> None:
    """List the topics of TENANT, or of all tenants."""
    request = ListTopicsRequest(tenant=tenant, prefix=prefix, topic_filter=topic_filter)
    show_some(console, SyncMqtt(console.client()).topics.list(request), limit)


@topics.command("create")
@click.argument("tenant")
@click.argument("name")
@click.option("--partitions", type=_count(1), default=1, show_default=True)
@click.option("--replication", type=_count(1), default=1, show_default=True)
@click.option("--description", default="")
@click.option("--replace", is_flag=True, help="Replace the topic of that name, if there is one.")
@click.pass_obj
def create(
    console: Console,
    tenant: str,
    name: str,
    partitions: int,
    replication: int,
    description: str,
    replace: bool,
) -> None:
    """Make the topic NAME of TENANT."""
    topic = Topic(
        tenant=tenant,
        name=name,
        partitions=partitions,
        replication=replication,
        description=description,
    )
    topics = SyncMqtt(console.client()).topics
    show(console, [(topics.put if replace else topics.create)(topic)])


@topics.command("grow")
@click.argument("tenant")
@click.argument("name")
@click.argument("partitions", type=_count(2))
@click.pass_obj
def grow(console: Console, tenant: str, name: str, partitions: int) -> None:
    """Give the topic NAME of TENANT more partitions; there is no way back."""
    show(console, [SyncMqtt(console.client()).topics.grow(tenant, name, partitions)])


@topics.command("delete")
@click.argument("tenant")
@click.argument("name")
@click.option("--missing-ok", is_flag=True, help="A topic that is not there is no failure.")
@click.pass_obj
def delete(console: Console, tenant: str, name: str, missing_ok: bool) -> None:
    """Mark the topic NAME of TENANT for deletion; finalizers say who has to do something first."""
    marked = SyncMqtt(console.client()).topics.delete(tenant, name, missing_ok=missing_ok)
    show(console, [marked] if marked.name else [])


@click.group("retained")
def retained() -> None:
    """See and delete retained messages."""


@retained.command("list")
@click.argument("tenant", default="")
@_filter
@limited
@click.pass_obj
def list_retained(console: Console, tenant: str, topic_filter: str, limit: int) -> None:
    """List the retained messages of TENANT, or of all tenants."""
    request = ListRetainedMessagesRequest(tenant=tenant, topic_filter=topic_filter)
    show_some(console, SyncMqtt(console.client()).retained_messages.list(request), limit)


@retained.command("delete")
@click.argument("tenant")
@click.argument("topic")
@click.pass_obj
def delete_retained(console: Console, tenant: str, topic: str) -> None:
    """Keep nothing of TOPIC any more; that there is nothing is no failure."""
    SyncMqtt(console.client()).retained_messages.delete(tenant, topic)
