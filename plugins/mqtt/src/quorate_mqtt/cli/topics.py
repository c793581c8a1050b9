"""`quorate mqtt topics` and `retained`."""

from __future__ import annotations

import click
from quorate.plugin import Console

from quorate_mqtt.cli.showing import limited, show, show_some
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.retained_messages_pb2 import ListRetainedMessagesRequest
from quorate_mqtt.v1.topics_pb2 import ListTopicsRequest, Topic

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
@click.option("--partitions", type=click.IntRange(1), default=1, show_default=True)
@click.option("--replication", type=click.IntRange(1), default=1, show_default=True)
@click.option("--description", default="")
@click.pass_obj
def create(
    console: Console, tenant: str, name: str, partitions: int, replication: int, description: str
) -> None:
    """Make the topic NAME of TENANT."""
    topic = Topic(
        tenant=tenant,
        name=name,
        partitions=partitions,
        replication=replication,
        description=description,
    )
    show(console, [SyncMqtt(console.client()).topics.create(topic)])


@topics.command("grow")
@click.argument("tenant")
@click.argument("name")
@click.argument("partitions", type=click.IntRange(2))
@click.pass_obj
def grow(console: Console, tenant: str, name: str, partitions: int) -> None:
    """Give the topic NAME of TENANT more partitions; there is no way back."""
    show(console, [SyncMqtt(console.client()).topics.grow(tenant, name, partitions)])


@topics.command("delete")
@click.argument("tenant")
@click.argument("name")
@click.pass_obj
def delete(console: Console, tenant: str, name: str) -> None:
    """Mark the topic NAME of TENANT for deletion; finalizers say who has to do something first."""
    show(console, [SyncMqtt(console.client()).topics.delete(tenant, name)])


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
