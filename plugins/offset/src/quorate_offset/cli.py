"""The command group `quorate offset`."""

from collections.abc import Mapping
from typing import Any

import click
from quorate.client import RejectedError
from quorate.plugin import Console
from quorate.plugin.console import (
    consent,
    consent_options,
    first_rows,
    limit_option,
    stale_option,
    time_text,
)

from quorate_offset.client import SyncOffsets

#: The largest partition number (32 bits) and the largest offset (64 bits, signed).
_PARTITION = (1 << 32) - 1
_OFFSET = (1 << 63) - 1

_topic = click.option("--topic", default="", help="Only the offsets of this topic.")
_partition = click.option(
    "--partition",
    type=click.IntRange(0, _PARTITION),
    help="Only the offset of this partition of --topic.",
)


@click.group()
def offset() -> None:
    """Show, reset and delete the offsets of consumer groups."""


def _row(each: Any) -> Mapping[str, object]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "offset": each.offset,
        "committed_at": time_text(each.committed_at_ms),
        "metadata": each.metadata,
    }


@offset.group()
def group() -> None:
    """List consumer groups."""


@group.command("list")
@click.option("--tenant", default="", help="Only the groups of this tenant.")
@click.option("--prefix", default="", help="Only groups of --tenant with this name prefix.")
@limit_option
@stale_option
@click.pass_obj
def list_groups(console: Console, tenant: str, prefix: str, limit: int, stale: bool) -> None:
    """List groups with their versions, by tenant and name."""
    if prefix and not tenant:
        raise click.UsageError("--prefix requires --tenant; name the tenant of the groups")
    states = SyncOffsets(console.client()).states(tenant, prefix=prefix, stale=stale)
    console.print(
        {
            "tenant": state.tenant,
            "group": state.group,
            "shard": state.shard,
            "revision": state.revision,
            "generation": state.generation,
            "committed_at": time_text(state.committed_at_ms),
        }
        for state in first_rows(states, limit)
    )


@offset.command("list")
@click.argument("tenant")
@click.argument("group")
@_topic
@stale_option
@click.pass_obj
def list_offsets(console: Console, tenant: str, group: str, topic: str, stale: bool) -> None:
    """List the offsets of GROUP by topic and partition."""
    found = SyncOffsets(console.client()).fetch_group(tenant, group, topic=topic, stale=stale)
    console.print(map(_row, found.offsets))


@offset.command()
@click.argument("tenant")
@click.argument("group")
@click.option("--to-offset", type=click.IntRange(0), help="Set the offsets to this value.")
@click.option("--to-group", default="", help="Set the offsets to those of this group.")
@_topic
@_partition
@click.option(
    "--generation",
    type=click.IntRange(1),
    help="Fence the group in the same step, so that consumers of older generations cannot undo "
    "the reset.",
)
@click.pass_obj
def reset(
    console: Console,
    tenant: str,
    group: str,
    to_offset: int | None,
    to_group: str,
    topic: str,
    partition: int | None,
    generation: int | None,
) -> None:
    """Set offsets of GROUP unconditionally."""
    if (to_offset is None) == (not to_group):
        raise click.UsageError("name one of --to-offset and --to-group")
    _check(topic, partition)
    count = SyncOffsets(console.client()).reset(
        tenant,
        group,
        to_offset=to_offset,
        to_group=to_group,
        topic=topic,
        partition=partition,
        generation=generation,
    )
    console.print([{"tenant": tenant, "group": group, "offsets_set": count}])


@offset.command()
@click.argument("tenant")
@click.argument("group")
@_topic
@_partition
@click.option("--all", "whole", is_flag=True, help="Delete the whole group.")
@consent_options
@click.pass_obj
def delete(
    console: Console,
    tenant: str,
    group: str,
    topic: str,
    partition: int | None,
    whole: bool,
    plan: bool,
    yes: bool,
) -> None:
    """Delete offsets of GROUP, after showing them and asking; succeeds if there are none."""
    _check(topic, partition)
    if whole == bool(topic):
        raise click.UsageError("name one of --topic and --all")
    offsets = SyncOffsets(console.client())
    if not yes or plan:
        rows = []
        try:
            found = offsets.fetch_group(tenant, group, topic=topic).offsets
            rows = [_row(each) for each in found if partition in (None, each.partition)]
        except RejectedError as error:
            if error.code != "NOT_FOUND":
                raise
        question = f"Delete these offsets of {group} of {tenant}?"
        if not consent(console, question, rows, plan=plan, yes=yes):
            return
    count = (
        offsets.delete_group(tenant, group)
        if whole
        else offsets.delete(tenant, group, topic, partition)
    )
    console.print([{"tenant": tenant, "group": group, "offsets_deleted": count}])


@group.command("lag")
@click.argument("tenant")
@click.argument("group")
@click.option(
    "--end",
    "ends",
    multiple=True,
    required=True,
    callback=lambda _ctx, _parameter, values: dict(map(_end, values)),
    metavar="TOPIC/PARTITION=OFFSET",
    help="End of a partition: the offset after its last record. Repeatable.",
)
@stale_option
@click.pass_obj
def lag(
    console: Console,
    tenant: str,
    group: str,
    ends: dict[tuple[str, int], int],
    stale: bool,
) -> None:
    """Show the lag of GROUP behind the ends of partitions."""
    found = SyncOffsets(console.client()).lag(tenant, group, ends, stale=stale)
    console.print(
        {
            "topic": each.topic,
            "partition": each.partition,
            "offset": each.offset if each.HasField("offset") else None,
            "end": each.end_offset,
            "lag": each.lag,
        }
        for each in found.partitions
    )


def _check(topic: str, partition: int | None) -> None:
    if partition is not None and not topic:
        raise click.UsageError("--partition requires --topic; name the topic of the partition")


def _end(text: str) -> tuple[tuple[str, int], int]:
    place, _, offset = text.rpartition("=")
    topic, _, partition = place.rpartition("/")
    if not (topic and _is_number(partition, _PARTITION) and _is_number(offset, _OFFSET)):
        raise click.BadParameter(f"{text!r} is not of the form TOPIC/PARTITION=OFFSET")
    return (topic, int(partition)), int(offset)


def _is_number(text: str, largest: int) -> bool:
    # Python refuses to read thousands of digits.
    return text.isascii() and text.isdigit() and len(text) < 30 and int(text) <= largest
