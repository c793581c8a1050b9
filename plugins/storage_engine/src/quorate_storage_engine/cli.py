"""The command group `quorate engine`."""

from __future__ import annotations

from collections.abc import Mapping

import click
from quorate.plugin import Console
from quorate.plugin.console import (
    consent,
    consent_options,
    first_rows,
    limit_option,
    stale_option,
    time_text,
    word_of,
)

from quorate_storage_engine.client import SyncEngines
from quorate_storage_engine.v1 import (
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as requests,
)

#: The largest page: each costs a call.
_PAGE = 1_000
#: A hundred years.
_LONGEST_S = 100 * 365 * 86_400
#: A segment's number has 32 bits.
_SEGMENT = click.IntRange(0, (1 << 32) - 1)


@click.group()
def engine() -> None:
    """Show engine shards and their segments, and manage the engines that hold them."""


@engine.group("shard")
def shard_() -> None:
    """List engine shards."""


@shard_.command("list")
@click.option("--prefix", default="", help="Only shards whose names begin with this.")
@click.option("--tenant", default="", help="Only shards of this tenant.")
@click.option("--topic", default="", help="Only shards of this topic.")
@limit_option
@stale_option
@click.pass_obj
def list_shards(
    console: Console, prefix: str, tenant: str, topic: str, limit: int, stale: bool
) -> None:
    """List engine shards by name."""
    request = requests.ListShardsRequest(
        name_prefix=prefix, tenant=tenant, topic=topic, page_size=_PAGE, stale=stale
    )
    console.print(
        {
            "name": shard.name,
            "tenant": shard.tenant,
            "topic": shard.topic,
            "status": word_of(rows.ShardStatus.DESCRIPTOR, shard.status),
            "replicas": shard.config.replicas,
            "min_in_sync_replicas": shard.config.min_in_sync_replicas,
            "start_segment": shard.start_segment,
            "active_segment": shard.active_segment,
            "segments": shard.segments,
            "created_at": time_text(shard.created_at_ms),
        }
        for shard in first_rows(_engines(console).shards(request), limit)
    )


@engine.group("segment")
def segment_() -> None:
    """List the segments of engine shards; force a leader."""


@segment_.command("list")
@click.option("--shard", default="", help="Only segments of this shard.")
@click.option("--engine", "holder", default="", help="Only segments that this engine holds.")
@click.option("--unavailable", is_flag=True, help="Only segments without a leader.")
@click.option(
    "--under-replicated",
    is_flag=True,
    help="Only segments with fewer replicas, or fewer in-sync replicas, than configured.",
)
@limit_option
@stale_option
@click.pass_obj
def list_segments(
    console: Console,
    shard: str,
    holder: str,
    unavailable: bool,
    under_replicated: bool,
    limit: int,
    stale: bool,
) -> None:
    """List segments by shard and number."""
    request = requests.ListSegmentsRequest(
        shard=shard,
        engine=holder,
        unavailable=unavailable,
        under_replicated=under_replicated,
        page_size=_PAGE,
        stale=stale,
    )
    console.print(
        {
            "shard": segment.shard,
            "segment": segment.number,
            "status": word_of(rows.SegmentStatus.DESCRIPTOR, segment.status),
            "leader": segment.leader,
            "replicas": list(segment.replicas),
            "in_sync": list(segment.isr),
            "start_offset": segment.start_offset,
            "end_offset": segment.end_offset if segment.HasField("end_offset") else None,
        }
        for segment in first_rows(_engines(console).segments(request), limit)
    )


@engine.group("replica")
def replica_() -> None:
    """List the replicas of segments."""


@replica_.command("list")
@click.argument("shard")
@click.argument("segment", type=_SEGMENT, required=False)
@stale_option
@click.pass_obj
def list_replicas(console: Console, shard: str, segment: int | None, stale: bool) -> None:
    """List the replicas of SHARD, or of its SEGMENT alone, and tell whether each is in sync."""
    engines = _engines(console)
    if segment is None:
        request = requests.ListSegmentsRequest(shard=shard, page_size=_PAGE, stale=stale)
        found = list(engines.segments(request))
    else:
        found = list(
            engines.get_segments([asked.SegmentId(shard=shard, segment=segment)], stale=stale)
        )
    if not found:
        what = f"engine shard {shard}" if segment is None else f"segment {segment} of {shard}"
        raise click.UsageError(f"there is no {what}; see quorate engine shard list")
    console.print(
        {
            "shard": each.shard,
            "segment": each.number,
            "engine": replica,
            "state": _state(each, replica),
            "leader_epoch": each.leader_epoch,
            "segment_epoch": each.segment_epoch,
        }
        for each in found
        for replica in each.replicas
    )


@engine.command("list")
@stale_option
@click.pass_obj
def list_engines(console: Console, stale: bool) -> None:
    """List engines and their load; an engine without a broker epoch is not registered."""
    console.print(
        {
            **_carried(state.engine),
            "broker_epoch": state.broker_epoch or None,
            "rack": state.rack,
        }
        for state in _engines(console).engines(stale=stale)
    )


@engine.group("drop")
def drop_() -> None:
    """List requested drops of segments."""


@drop_.command("list")
@click.option("--engine", "name", default="", help="Only drops requested of this engine.")
@click.option(
    "--older-than",
    type=click.FloatRange(0, _LONGEST_S),
    default=0.0,
    metavar="SECONDS",
    help="Only drops requested at least this long ago.",
)
@limit_option
@stale_option
@click.pass_obj
def list_drops(console: Console, name: str, older_than: float, limit: int, stale: bool) -> None:
    """List requested drops that engines have not acknowledged."""
    request = requests.ListDropsRequest(
        engine=name, older_than_ms=round(older_than * 1_000), page_size=_PAGE, stale=stale
    )
    console.print(
        {
            "engine": drop.engine,
            "shard": drop.shard,
            "segment": drop.segment,
            "requested_at": time_text(drop.requested_at_ms),
        }
        for drop in first_rows(_engines(console).drops(request), limit)
    )


@engine.command()
@click.option(
    "--most",
    type=click.IntRange(1, _PAGE),
    help="Maximum number of leaders to move; by default as many as a node moves in one round.",
)
@click.option("--dry-run", is_flag=True, help="Only show the moves.")
@click.pass_obj
def balance(console: Console, most: int | None, dry_run: bool) -> None:
    """Give leadership back to the preferred leaders that are in sync."""
    moves = _engines(console).balance_leaders(most_moves=most or 0, dry_run=dry_run)
    console.print(
        {
            "shard": move.seen.shard,
            "segment": move.seen.segment,
            "from": move.leader,
            "to": move.preferred,
        }
        for move in moves
    )


@engine.command()
@click.argument("engines", nargs=-1, required=True)
@consent_options
@click.pass_obj
def decommission(console: Console, engines: tuple[str, ...], plan: bool, yes: bool) -> None:
    """Move the replicas of ENGINES to other engines, for good.

    Shows their load and asks for confirmation. An engine has left once it holds no replicas; see
    quorate engine list.
    """
    found = _engines(console)
    if not yes or plan:
        carried = (_carried(each.engine) for each in found.engines() if each.engine.name in engines)
        question = f"Move all replicas of {', '.join(engines)} to other engines?"
        if not consent(console, question, carried, plan=plan, yes=yes):
            return
    console.print([_carried(each) for each in found.decommission(engines)])


@engine.command()
@click.argument("engines", nargs=-1, required=True)
@click.pass_obj
def recommission(console: Console, engines: tuple[str, ...]) -> None:
    """Let decommissioned ENGINES accept replicas again."""
    console.print([_carried(each) for each in _engines(console).recommission(engines)])


@segment_.command("force-leader")
@click.argument("shard")
@click.argument("segment", type=_SEGMENT)
@click.argument("name", metavar="ENGINE")
@click.option("--yes", is_flag=True, help="Do not ask whether records may be lost.")
@click.pass_obj
def force_leader(console: Console, shard: str, segment: int, name: str, yes: bool) -> None:
    """Make ENGINE lead an unavailable segment; the records that it lacks are lost."""
    engines = _engines(console)
    found = engines.get_segments([asked.SegmentId(shard=shard, segment=segment)])
    if not found:
        raise click.UsageError(f"there is no segment {segment} of {shard}")
    if not yes:
        click.confirm(
            f"Acknowledged records that {name} lacks of segment {segment} of {shard} are lost. "
            "Go on?",
            abort=True,
            err=True,
        )
    led = engines.force_leader(shard, segment, name, epoch=found[0].segment_epoch)
    console.print(
        [
            {
                "shard": led.shard,
                "segment": led.number,
                "leader": led.leader,
                "leader_epoch": led.leader_epoch,
                "unclean_elections": led.unclean_elections,
            }
        ]
    )


def _engines(console: Console) -> SyncEngines:
    return SyncEngines(console.client())


def _carried(each: rows.Engine) -> Mapping[str, object]:
    return {
        "engine": each.name,
        "replicas": each.replicas,
        "leaderships": each.leaderships,
        "decommissioned_at": time_text(each.decommissioned_at_ms),
    }


def _state(segment: rows.Segment, replica: str) -> str:
    if replica == segment.leader:
        return "leader"
    if replica in segment.isr:
        return "in-sync"
    if replica in segment.last_known_isr:
        return "last-known-in-sync"
    return "behind"
