"""The command group `quorate name-server`; the settings add their own commands to it."""

from __future__ import annotations

from collections.abc import Iterator

import click
from quorate.plugin import Console
from quorate.plugin.console import first_rows, limit_option, time_text

from quorate_name_server.cli.rocketmq import import_store
from quorate_name_server.client import SyncNameServer
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as asked

_MODES = {
    "consistent": asked.READ_MODE_CONSISTENT,
    "available": asked.READ_MODE_AVAILABLE,
}

_mode = click.option(
    "--mode",
    type=click.Choice(list(_MODES)),
    help="Mode of the read; the default comes from the node's configuration.",
)


@click.group("name-server")
def name_server() -> None:
    """Show routes of topics, and manage brokers."""


name_server.add_command(import_store)


@name_server.group()
def route() -> None:
    """Show and follow the routes of topics."""


@route.command("get")
@click.argument("topics", nargs=-1, required=True)
@_mode
@click.pass_obj
def get_routes(console: Console, topics: tuple[str, ...], mode: str | None) -> None:
    """Show the queues of TOPICS and their brokers."""
    found = _names(console).routes(topics, mode=_mode_of(mode))
    _warn(found.state)
    console.print([row for route in found.routes for row in _queues(route)])


@name_server.group()
def broker() -> None:
    """List brokers, and manage their members."""


@broker.command("list")
@click.argument("names", nargs=-1)
@click.option("--cluster", default="", help="Only brokers of this cluster.")
@_mode
@click.pass_obj
def list_brokers(console: Console, names: tuple[str, ...], cluster: str, mode: str | None) -> None:
    """List the members of all brokers, or of the brokers NAMES."""
    found = _names(console).brokers(names, cluster=cluster, mode=_mode_of(mode))
    _warn(found.state)
    console.print(
        [_member(broker, member) for broker in found.brokers for member in broker.members]
    )


@name_server.group()
def topic() -> None:
    """List topics, and delete their routes."""


@topic.command("list")
@click.option("--cluster", default="", help="Only topics with queues in this cluster.")
@limit_option
@_mode
@click.pass_obj
def list_topics(console: Console, cluster: str, limit: int, mode: str | None) -> None:
    """List the topics that have routes."""
    found = _names(console).topics(cluster=cluster, mode=_mode_of(mode))
    console.print([{"topic": topic} for topic in first_rows(found, limit)])


@route.command("watch")
@click.argument("topics", nargs=-1, required=True)
@click.pass_obj
def watch_routes(console: Console, topics: tuple[str, ...]) -> None:
    """Show the routes of TOPICS and their changes until interrupted."""
    for route in _names(console).watch_routes(topics):
        console.print(list(_queues(route)) or [{"topic": route.topic}])


@broker.command("wipe-write-permission")
@click.argument("name")
@click.pass_obj
def wipe_write_permission(console: Console, name: str) -> None:
    """Revoke the write permission of the broker NAME, until restored or registered anew."""
    console.print([{"broker": name, "topics": _names(console).wipe_write_permission(name)}])


@broker.command("add-write-permission")
@click.argument("name")
@click.pass_obj
def add_write_permission(console: Console, name: str) -> None:
    """Restore the write permission of the broker NAME."""
    console.print([{"broker": name, "topics": _names(console).add_write_permission(name)}])


@topic.command("delete")
@click.argument("topic")
@click.option("--cluster", default="", help="Only its queues in this cluster.")
@click.pass_obj
def delete_topic(console: Console, topic: str, cluster: str) -> None:
    """Delete the routes of TOPIC; a broker that still has the topic restores them."""
    count = _names(console).delete_topic(topic, cluster=cluster)
    console.print([{"topic": topic, "brokers": count}])


@broker.command("unregister")
@click.argument("name")
@click.argument("address")
@click.pass_obj
def unregister(console: Console, name: str, address: str) -> None:
    """Remove the member at ADDRESS from the broker NAME."""
    removed = _names(console).unregister(name, address)
    console.print([{"broker": name, "address": address, "removed": removed}])


def _names(console: Console) -> SyncNameServer:
    return SyncNameServer(console.client())


def _mode_of(mode: str | None) -> asked.ReadMode:
    return asked.READ_MODE_UNSPECIFIED if mode is None else _MODES[mode]


def _warn(state: asked.AnswerState) -> None:
    """Warn on standard error about an answer without a majority."""
    if state.mode == asked.READ_MODE_AVAILABLE and not 0 <= state.age_ms < 1_000:
        age = "unknown" if state.age_ms < 0 else f"{state.age_ms} ms"
        click.echo(f"warning: the node answered from memory; age: {age}", err=True)
    for name in state.unconfirmed:
        click.echo(f"warning: no majority has confirmed members of {name}", err=True)


def _queues(route: asked.Route) -> Iterator[dict[str, object]]:
    held: dict[str, pb.BrokerQueues] = {each.broker: each for each in route.queues}
    for broker in route.brokers:
        queues = held[broker.name].queues
        yield {
            "topic": route.topic,
            "broker": broker.name,
            "cluster": broker.cluster,
            "read_queues": queues.read_queues,
            "write_queues": queues.write_queues,
            "perm": queues.perm,
            "addresses": {str(member.id): member.address for member in broker.members},
        }


def _member(broker: rows.Broker, member: rows.Member) -> dict[str, object]:
    return {
        "broker": broker.name,
        "cluster": member.cluster,
        "id": member.id,
        "address": member.address,
        "ha_address": member.ha_address,
        "zone": broker.zone,
        "topics": broker.topics,
        "write_wiped": broker.write_wiped,
        "data_version": member.data_version.counter,
        "registered_at": time_text(member.registered_at_ms),
        "confirmed": not member.unconfirmed,
    }
