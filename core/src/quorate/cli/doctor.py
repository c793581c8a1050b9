"""`quorate doctor`: problems of a cluster and its configuration, each with its fix."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.failures import ExitCode
from quorate.cli.options import flag
from quorate.cli.samples import Samples, bucket_of, samples_in, texts_of
from quorate.cli.status import ClusterView, view_of
from quorate.cli.statuses import Silent, Status, look, quota_rows
from quorate.cli.terminal import Terminal
from quorate.client.errors import QuorateError
from quorate.config.files import open_files, raise_open_files
from quorate.observe.thresholds import FULL, LOOP_STOP_S
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient
    from quorate.config import Settings

_DAY_S: Final = 86_400
#: Remaining lifetime below which a certificate should be replaced, in seconds.
_ENDS_S: Final = 14 * _DAY_S
#: An fsync that takes longer makes every write slow.
_SYNC_S: Final = 0.05
#: Number of fsyncs that measure a disk.
_SYNCS: Final = 100
#: A node with many shards and connections opens more than the usual 1,024 files.
_FILES: Final = 65_536

#: Prefixes of the names of the metrics that are read.
NAMES: Final = (
    *("quorate_tls_end_", "quorate_log_sync_", "process_open_fds", "process_max_fds"),
    *("quorate_loop_longest_", "quorate_rocksdb_write_stopped", "quorate_audit_lost_"),
    "quorate_limits_refused_",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and how to fix it."""

    #: A node, a shard, a tenant or a setting.
    where: str
    found: str
    advice: str


@click.command("doctor")
@flag("--here", "Check this machine's configuration file and disk, too.")
@click.pass_obj
def command(terminal: Terminal, here: bool) -> None:
    """Find failures, slowdowns and full resources, and suggest fixes.

    Asks every node for its status, its metrics and its quotas. The exit status is 1 if anything is
    found.
    """
    findings = list(of_machine(terminal.settings(), terminal.chosen_config())) if here else []
    findings += of_cluster(terminal.ask(lambda client: gather(client, NAMES)))
    terminal.print(map(asdict, findings))
    if not findings and not terminal.json:
        click.echo("Nothing to do.")
    if findings:
        raise click.exceptions.Exit(ExitCode.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The status, metrics and quotas of the nodes of a cluster."""

    topology: pb.TopologyResponse
    statuses: Mapping[str, Status]
    #: Metrics for Prometheus of each node that answers, or why they cannot be read.
    metrics: Mapping[str, str | OSError]
    quotas: Iterable[Mapping[str, Any]]


async def gather(client: AsyncClient, names: Sequence[str] = ()) -> Reports:
    """Ask every node for its status, then each answering node for its metrics and quotas.

    Only metrics with a prefix among `names` are kept; if it is empty, all are.
    """
    topology, statuses = await look(client)
    answering = [name for name, each in statuses.items() if not isinstance(each, Silent)]
    quotas, metrics = await asyncio.gather(
        quota_rows(client, answering, QuorateError), texts_of(client, statuses, names)
    )
    return Reports(topology=topology, statuses=statuses, metrics=metrics, quotas=quotas)


def of_cluster(reports: Reports, view: ClusterView | None = None) -> Iterator[Finding]:
    """Yield the problems of a cluster; `view` is one of the same reports, if there is one."""
    yield from of_view(view or view_of(reports.topology, reports.statuses, at_s=time.monotonic()))
    for node, status in reports.statuses.items():
        if isinstance(status, Silent):
            continue
        yield from of_status(node, status)
        metrics = reports.metrics[node]
        if isinstance(metrics, OSError):
            found = f"its metrics cannot be read: {getattr(metrics, 'reason', metrics)}"
            yield Finding(node, found, f"let this machine reach {status.http_address}")
        else:
            yield from of_metrics(node, samples_in(metrics, NAMES), now_s=time.time())
    yield from of_quotas(reports.quotas)


def of_view(view: ClusterView) -> Iterator[Finding]:
    """Yield the problems of nodes and shards in the view of `quorate status`."""
    nodes: Any = view.rows["nodes"]
    shards: Any = view.rows["shards"]
    for row in view.rows["alarms"]:
        yield Finding(
            str(row["node"] or "cluster"), str(row["alarm"]), "follow the advice of the alarm"
        )
    versions = Counter(row["version"] for row in nodes if row["version"])
    if len(versions) > 1:
        found = ", ".join(f"{count} with {version}" for version, count in versions.items())
        yield Finding("cluster", f"its nodes differ in version: {found}", "finish the upgrade")
    machines = {row["node"]: row["machine"] or row["node"] for row in nodes}
    for row in shards:
        on = Counter(machines.get(node, node) for node in row["nodes"])
        if len(row["nodes"]) < 3:
            found = f"{len(row['nodes'])} replicas: the loss of one stops its writes"
            yield Finding(row["shard"], found, "run three nodes, with three replicas of its group")
        elif 2 * max(on.values()) > len(row["nodes"]):
            [(machine, count)] = on.most_common(1)
            advice = "name the hosts by `[node] host`, and `quorate shard balance`"
            yield Finding(row["shard"], f"{count} of its replicas are on {machine}", advice)
    led = {row["node"]: row["leads"] for row in nodes if row["leads"] is not None and row["hosts"]}
    if led and max(led.values()) - min(led.values()) > 1 + sum(led.values()) // (4 * len(led)):
        most, least = (choose(led, key=led.__getitem__) for choose in (max, min))
        found = f"{most} leads {led[most]} shards, {least} {led[least]}"
        yield Finding("cluster", found, "see `quorate shard balance --dry-run`")


def of_status(node: str, status: pb.NodeStatusResponse) -> Iterator[Finding]:
    """Yield the paused and failing controllers of a node, and what its disk has damaged."""
    if healed := [each for each in status.damage if each.healed_at_ms]:
        # What is not healed is an alarm.
        times = "once" if len(healed) == 1 else f"{len(healed):,} times"
        last = max(healed, key=lambda each: each.healed_at_ms)
        found = f"its disk has damaged data {times}, which was repaired; last: {last.what}"
        advice = "the disk may be dying: look at its SMART values, and replace it"
        yield Finding(node, found, advice)
    for name in status.paused:
        yield Finding(node, f"controller {name} is paused", f"quorate controller resume {name}")
    for each in status.controllers:
        if each.error:
            found = f"controller {each.name} fails for {each.shard}: {each.error}"
            yield Finding(node, found, "the node's log has the traceback")


def of_metrics(node: str, samples: Samples, *, now_s: float) -> Iterator[Finding]:
    """Yield the problems that the metrics of a node show."""

    def one(name: str) -> float:
        return next((value for _, value in samples.get(name, ())), 0.0)

    for labels, ends_s in samples.get("quorate_tls_end_timestamp_seconds", ()):
        if (left_s := ends_s - now_s) < _ENDS_S:
            found = f"the certificate in {labels['file']} ends in {left_s / _DAY_S:.0f} days"
            yield Finding(node, found, "replace the file; the node takes it without a restart")
    buckets = samples.get("quorate_log_sync_seconds_bucket", ())
    slow_s, _ = bucket_of([(float(labels["le"]), count) for labels, count in buckets], 0.99)
    if slow_s > _SYNC_S:
        found = f"one fsync of a hundred takes more than {slow_s * 1_000:.0f} ms"
        yield Finding(node, found, "give its directory a disk of its own, and a fast one")
    opened, most = one("process_open_fds"), one("process_max_fds")
    if most and opened > FULL * most:
        found = f"{opened:.0f} of {most:.0f} file descriptors are open"
        yield Finding(node, found, "raise LimitNOFILE, or `ulimit -n`, and restart it")
    if (stop_s := one("quorate_loop_longest_stop_seconds")) > LOOP_STOP_S:
        found = f"its loop stood still for {stop_s * 1_000:.0f} ms in the last minute"
        yield Finding(
            node, found, "look for slow handlers in its log, and for other busy processes"
        )
    if any(value for _, value in samples.get("quorate_rocksdb_write_stopped", ())):
        advice = "its disk is full, or too slow for the writes"
        yield Finding(node, "RocksDB has stopped writes", advice)
    if one("quorate_audit_lost_records_total"):
        yield Finding(
            node, "records of the audit log were lost", "make room on the disk of audit.file"
        )
    for labels, refused in samples.get("quorate_limits_refused_total", ()):
        if refused:
            found = f"{refused:.0f} calls were refused because of limits.{labels['setting']}"
            yield Finding(
                node,
                found,
                "raise it, or find the busiest callers: `quorate tenant quota status`",
            )


def of_quotas(rows: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Return the quotas that are nearly used up."""
    for row in rows:
        if row["limit"] and row["used"] > FULL * row["limit"]:
            found = f"{row['used']} of {row['limit']} {row['quota']} are used"
            advice = "raise the quota, or delete what is not needed"
            yield Finding(f"{row['kind']} {row['name']}", found, advice)


def of_machine(settings: Settings, file: Path | None = None) -> Iterator[Finding]:
    """Yield the problems of a configuration, of its file and of the machine that runs it."""
    from quorate.config.exposed import exposed

    for setting, path in exposed(settings, file):
        found = f"every user of this machine can read {path}"
        yield Finding(setting, found, f"chmod o-rwx {path}")
    directory = settings.node.dir.absolute()
    there = next(each for each in (directory, *directory.parents) if each.exists())
    slow_s = fsync_s(there)
    if slow_s > _SYNC_S:
        found = f"an fsync takes up to {slow_s * 1_000:.0f} ms"
        yield Finding(str(there), found, "choose a faster disk: a write waits for it on two nodes")
    if slow_s * 1_000 * 5 > settings.timing.election_min_ms:
        found = (
            f"{settings.timing.election_min_ms} ms are too short for fsyncs of {slow_s * 1_000:.0f}"
        )
        yield Finding("timing.election_min_ms", found, "raise it, or choose a faster disk")
    disk = shutil.disk_usage(there)
    if disk.used > FULL * disk.total:
        found = f"{disk.free // 2**20} MiB are free of {disk.total // 2**20}"
        yield Finding(str(there), found, "make room: a node refuses writes before its disk is full")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    caches = settings.storage.block_cache_bytes + settings.storage.write_buffer_bytes
    if 2 * caches > memory:
        found = f"caches and buffers take {caches // 2**20} MiB of {memory // 2**20}"
        yield Finding("storage", found, "lower block_cache_bytes or write_buffer_bytes")
    # As a node does.
    raise_open_files()
    files = open_files()
    if files < _FILES:
        found = f"a process may open {files} files"
        yield Finding("this machine", found, f"raise LimitNOFILE, or `ulimit -n`, to {_FILES}")
    members = settings.cluster.initial_members
    if members and len(members) % 2 == 0:
        found = f"{len(members)} nodes tolerate no more failures than {len(members) - 1} would"
        yield Finding("cluster.initial_members", found, "add a node, or remove one")
    if settings.tls.insecure:
        advice = "give it certificates: docs/how-to/secure.md"
        yield Finding(
            "tls.insecure",
            "every client that reaches the node may read and change everything",
            advice,
        )
    if settings.auth.root_token_file:
        found = "the bearer of this token may do everything"
        yield Finding("auth.root_token_file", found, "remove it once there is an administrator")


def fsync_s(directory: Path) -> float:
    """Return how long the slowest but one of a hundred small appends takes to be durable."""
    path = directory / f".doctor-{os.getpid()}"
    taken: list[float] = []
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(_SYNCS):
                file.write(bytes(4_096))
                began = time.perf_counter()
                os.fdatasync(file.fileno())
                taken.append(time.perf_counter() - began)
    finally:
        path.unlink(missing_ok=True)
    return sorted(taken)[-2]
