"""The metrics of a store by the names that dashboards of etcd ask for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from quorate.plugin import NodeApi

from quorate_etcd import families, release
from quorate_etcd.serving.identity import Identity
from quorate_etcd.serving.maintenance import Maintenance
from quorate_etcd.serving.tally import Tally
from quorate_etcd.serving.watching import Watches


class Figures:
    """Writes the metrics that etcd's dashboards read; the node's own page has all others."""

    def __init__(
        self,
        node: NodeApi,
        identity: Identity,
        maintenance: Maintenance,
        watches: Watches,
        tally: Tally,
    ) -> None:
        self._node: Final = node
        self._identity: Final = identity
        self._maintenance: Final = maintenance
        self._watches: Final = watches
        self._tally: Final = tally
        self._key: Final = families.store_key(identity.store)
        self._began: Final = time.time()
        self._leader = ""
        self._changes = 0

    async def text(self) -> str:
        """Return the metrics of the store on this node."""
        return "".join([*self._of_node(), *await self._of_store(), *self._of_calls()])

    def _of_node(self) -> Iterator[str]:
        shard, node = self._node.shard(families.GROUP, self._key), self._node.cluster().node
        if shard.leader != self._leader:
            self._changes += bool(shard.leader)
            self._leader = shard.leader
        yield _gauge("etcd_server_has_leader", bool(shard.leader))
        yield _gauge("etcd_server_is_leader", shard.leader == node)
        yield _gauge("etcd_server_is_learner", 0)
        yield _counter("etcd_server_leader_changes_seen_total", self._changes)
        yield _counter("etcd_server_proposals_committed_total", shard.committed)
        yield _gauge("etcd_server_proposals_applied_total", shard.applied)
        yield _gauge("etcd_server_version", 1, f'{{server_version="{release.SERVER}"}}')
        minor = release.CLUSTER.rpartition(".")[0]
        yield _gauge("etcd_cluster_version", 1, f'{{cluster_version="{minor}"}}')
        size = self._node.shard_bytes(families.GROUP, self._key)
        yield _gauge("etcd_mvcc_db_total_size_in_bytes", size)
        yield _gauge("etcd_mvcc_db_total_size_in_use_in_bytes", size)
        yield _gauge("etcd_debugging_mvcc_watcher_total", len(self._watches))
        yield _gauge("process_start_time_seconds", round(self._began, 3))

    async def _of_store(self) -> list[str]:
        try:
            standing = await self._maintenance.standing()
        except Exception:  # noqa: BLE001 - without a replica that answers there is no figure
            return []
        return [
            _gauge("etcd_debugging_mvcc_current_revision", standing.revision),
            _gauge("etcd_debugging_mvcc_compact_revision", standing.compacted),
        ]

    def _of_calls(self) -> Iterator[str]:
        yield "# TYPE grpc_server_started_total counter\n"
        for call, count in sorted(self._tally.started.items()):
            yield f"grpc_server_started_total{{{_labels(*call)}}} {count}\n"
        yield "# TYPE grpc_server_handled_total counter\n"
        for (*handled, code), count in sorted(self._tally.handled.items()):
            yield f'grpc_server_handled_total{{grpc_code="{code}",{_labels(*handled)}}} {count}\n'


def _labels(service: str, method: str, kind: str) -> str:
    return f'grpc_method="{method}",grpc_service="{service}",grpc_type="{kind}"'


def _gauge(name: str, value: float, labels: str = "") -> str:
    return f"# TYPE {name} gauge\n{name}{labels} {value + 0}\n"


def _counter(name: str, value: float) -> str:
    return f"# TYPE {name} counter\n{name} {value}\n"
