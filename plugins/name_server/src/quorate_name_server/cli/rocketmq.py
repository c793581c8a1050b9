"""The command `quorate name-server import`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
from quorate.plugin import Console
from quorate.plugin.batches import in_parts

from quorate_name_server.broker_store import BrokerStore, UnreadableFileError
from quorate_name_server.client import CONSISTENT, SyncNameServer
from quorate_name_server.v1 import commands_pb2 as pb

#: The most refusals listed one by one.
_SHOWN = 10
_AT_ONCE = 1_000


@dataclass
class Taken:
    """The outcome of one kind of item."""

    what: str
    found: int = 0
    #: Items that already existed in this form or a newer one.
    kept: int = 0
    refused: int = 0
    _shown: int = 0

    def refuse(self, name: str, message: str, count: int = 1) -> None:
        """Count refusals, and print the first ones."""
        self._shown += 1
        self.refused += count
        if self._shown <= _SHOWN:
            click.echo(f"warning: {self.what} {name} is refused: {message}", err=True)

    def row(self) -> dict[str, object]:
        """Return the row to print."""
        taken = self.found - self.kept - self.refused
        return {
            "what": f"{self.what}s",
            "found": self.found,
            "taken": taken,
            "kept": self.kept,
            "refused": self.refused,
        }


@click.command("import")
@click.option(
    "--store",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder storePathRootDir of a broker, which contains the folder config.",
)
@click.option("--broker", required=True, help="Broker to import the topics of.")
@click.option("--cluster", default="DefaultCluster", show_default=True, help="Its cluster.")
@click.option(
    "--address",
    default="",
    help="Register the broker at this HOST:PORT; by default it must already be registered.",
)
@click.option("--tenant", default="", help="The tenant of the offsets and groups; it must exist.")
@click.option("--topics/--no-topics", default=True, help="Import topics.json.")
@click.option("--offsets/--no-offsets", default=True, help="Import consumerOffset.json.")
@click.option("--groups/--no-groups", default=True, help="Import subscriptionGroup.json.")
@click.pass_obj
def import_store(
    console: Console,
    store: Path,
    broker: str,
    cluster: str,
    address: str,
    tenant: str,
    topics: bool,
    offsets: bool,
    groups: bool,
) -> None:
    """Import topics, offsets and subscription groups from the store of a broker of RocketMQ.

    Offsets never go back: a larger committed offset stays. Existing items count as kept. Offsets
    and groups need the plugin `offset`.
    """
    if (offsets or groups) and not tenant:
        raise click.UsageError("offsets and groups need a --tenant")
    files = BrokerStore(store)
    for name in files.missing():
        click.echo(f"warning: there is no {store / 'config' / name}", err=True)
    done = []
    try:
        if topics:
            done.append(_take_topics(console, files, broker, cluster, address))
        if offsets:
            done.append(_take_offsets(console, files, tenant))
        if groups:
            done.append(_take_groups(console, files, tenant))
    except UnreadableFileError as error:
        raise click.ClickException(str(error)) from None
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed; install quorate-offset, or skip offsets and groups "
            "with --no-offsets --no-groups"
        ) from None
    console.print([each.row() for each in done])


def _take_topics(
    console: Console, files: BrokerStore, broker: str, cluster: str, address: str
) -> Taken:
    names = SyncNameServer(console.client())
    topics, version = files.topics()
    taken = Taken("topic", found=len(topics))
    if address:
        registration = pb.Registration(
            cluster=cluster, name=broker, address=address, data_version=version, topics=topics
        )
        taken.kept = 0 if names.register(registration).changed else len(topics)
    else:
        for part in in_parts(topics, _AT_ONCE):
            known = names.routes([each.topic for each in part], mode=CONSISTENT).routes
            kept = {each.topic for each in known if any(q.broker == broker for q in each.queues)}
            new = [
                pb.BrokerQueues(topic=each.topic, broker=broker, queues=each.queues)
                for each in part
                if each.topic not in kept
            ]
            taken.kept += len(kept)
            for refusal in names.put_queues(new).refusals:
                taken.refuse(new[refusal.item].topic, refusal.message)
    return taken


def _take_offsets(console: Console, files: BrokerStore, tenant: str) -> Taken:
    from quorate_offset.client import SyncOffsets
    from quorate_offset.v1 import commands_pb2 as offset

    taken = Taken("offset")
    commits: dict[str, offset.GroupCommit] = {}
    for group, topic, queues in files.offsets():
        commit = commits.setdefault(
            group,
            offset.GroupCommit(tenant=tenant, group=group, mode=offset.COMMIT_MODE_MONOTONIC),
        )
        for queue, at in queues.items():
            commit.commits.add(topic=topic, partition=queue, offset=at)
        taken.found += len(queues)
    for part in in_parts(commits.values(), _AT_ONCE):
        for refusal in SyncOffsets(console.client()).commit_many(part).refusals:
            if refusal.code == "BEHIND":
                taken.kept += 1
                continue
            refused = part[refusal.group]
            count = 1 if refusal.HasField("commit") else len(refused.commits)
            taken.refuse(f"of group {refused.group}", refusal.message, count)
    return taken


def _take_groups(console: Console, files: BrokerStore, tenant: str) -> Taken:
    from quorate_offset.client import SyncSubscriptionGroups
    from quorate_offset.v1 import commands_pb2 as offset

    taken = Taken("group")
    groups = SyncSubscriptionGroups(console.client())
    changes = [
        offset.SubscriptionGroupChange(
            tenant=tenant,
            group=group.name,
            attributes=[
                offset.AttributeChange(name=f"+{name}", value=value)
                for name, value in sorted(group.attributes.items())
            ],
            forbidden=[
                offset.ForbiddenChange(topic=topic, set=bits)
                for topic, bits in sorted(group.forbidden.items())
                if bits
            ],
            **group.settings,
        )
        for group in files.groups()
    ]
    taken.found = len(changes)
    reply = groups.put_many(changes)
    taken.kept = sum(each.unchanged for each in reply.groups)
    for refusal in reply.refusals:
        taken.refuse(changes[refusal.item].group, refusal.message)
    return taken
