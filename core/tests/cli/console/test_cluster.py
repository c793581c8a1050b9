"""The console calls a problem what `quorate doctor` and the alerts call one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from quorate.cli.console import cluster
from quorate.cli.console.actions import Actions
from quorate.cli.console.cluster import Cluster, _disk, finding_row
from quorate.cli.console.html import Bad, Share
from quorate.cli.console.printed import Commands
from quorate.cli.doctor import Finding, of_quotas
from quorate.node.alerts import ALERTS
from quorate.observe.thresholds import FOLLOWER_LAG
from quorate.plugin.catalog import build

NONE = Actions(Commands(build([])), {})


class Asked:
    """A client whose cluster has two quotas."""

    asynchronous = None
    thread: Any

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.thread = self
        self.rows = rows

    def topology(self) -> Any:
        class Topology:
            nodes = ()

        return Topology()

    def run(self, _: object) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


def test_a_nearly_full_quota_is_one_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"kind": "tenant", "name": name, "quota": "rows", "limit": 100, "used": used}
        | {"node": "node1", "refused": 0}
        for name, used in (("eased", 79), ("pressed", 85))
    ]
    monkeypatch.setattr(cluster, "quota_rows", lambda *_: None)
    client: Any = Asked(rows)

    [(_, shown)] = Cluster(NONE).quotas(client).tables
    assert [each["name"] for each in shown] == [Bad("pressed"), "eased"]
    assert [each.where for each in of_quotas(rows)] == ["tenant pressed"]


@pytest.mark.parametrize(("lag", "lags"), [(FOLLOWER_LAG, False), (FOLLOWER_LAG + 1, True)])
def test_a_lagging_follower_is_one_for_both(lag: int, lags: bool) -> None:
    row = {"shard": "toy/0", "leader": "a", "term": 1, "nodes": ["a", "b"], "commit": 1}
    row |= {"queued": 0, "lag": {"b": lag}}
    few, many = {"a": True, "b": True}, {"a": True, "b": True}
    many |= {f"n{number}": True for number in range(11)}

    assert isinstance(Cluster(NONE)._shard(row, few)["on b"], Bad) is lags
    assert isinstance(Cluster(NONE)._shard(row, many)["lagging"], Bad) is lags
    expression = ALERTS["quorate_raft_follower_lag_entries"].expression
    assert expression.endswith(f"> {FOLLOWER_LAG}")


@pytest.mark.parametrize(
    ("used", "shown"),
    [(0, Share(0, 100)), (80, Share(80, 100)), (81, Bad(Share(81, 100)))],
)
def test_a_disk_that_is_nearly_full_is_marked(used: int, shown: object) -> None:
    assert _disk(used * 10**9, 100 * 10**9) == shown
    assert _disk(0, 0) == ""


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("node1", "nodes/node1"),
        ("metadata/0", "shards/metadata/0"),
        ("tenant acme", "tenant/tenants/row"),
        ("cluster", None),
        ("identity loader", None),
    ],
)
def test_a_finding_leads_to_what_it_is_about(where: str, path: str | None) -> None:
    row = finding_row(Finding(where, "full", "make room"), {"node1"}, {"metadata/0"})

    assert getattr(row["where"], "path", None) == path
    assert getattr(row["where"], "text", row["where"]) == where
