"""What `quorate doctor` finds in what it was told, and in a cluster that runs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from quorate.cli.doctor import fsync_s, of_machine, of_metrics, of_quotas, of_status, of_view
from quorate.cli.main import main
from quorate.cli.status import view_of
from quorate.cli.statuses import Silent, Status
from quorate.client import Client
from quorate.config import load
from quorate.testing.cluster import Cluster
from quorate.v1.admin_pb2 import (
    ControllerReport,
    DamageReport,
    NodeAddress,
    NodeStatusResponse,
    ReplicaReport,
    ShardPlace,
    TopologyResponse,
)

SHARDS = [f"metadata/{number}" for number in range(4)]


def found(*statuses: Status) -> list[str]:
    names = [f"n{number}" for number, _ in enumerate(statuses, 1)]
    topology = TopologyResponse(
        nodes=[NodeAddress(node=name, address=name) for name in names],
        shards=[ShardPlace(group="metadata", number=n, nodes=names) for n, _ in enumerate(SHARDS)],
    )
    view = view_of(topology, dict(zip(names, statuses, strict=True)), at_s=1.0)
    return [f"{each.where}: {each.found}" for each in of_view(view)]


def node(leads: str = "", **more: Any) -> NodeStatusResponse:
    shards = [
        ReplicaReport(shard=shard, term=2, role="leader" if shard[-1] in leads else "follower")
        for shard in SHARDS
    ]
    return NodeStatusResponse(**{"ready": True, "version": "1", "shards": shards, **more})


def test_a_sound_cluster_has_nothing_to_do() -> None:
    assert found(node("01"), node("2"), node("3")) == []


def test_nodes_that_fail_differ_or_share_a_machine_are_found() -> None:
    gone = found(node("01"), node("23"), Silent("refused"))
    assert any(each.startswith("n3: does not answer: refused; ") for each in gone)
    unready = found(node("01"), node("2", ready=False), node("3"))
    assert any(each.startswith("n2: not ready. ") for each in unready)
    assert "cluster: its nodes differ in version: 2 with 1, 1 with 2" in found(
        node("01"), node("2"), node("3", version="2")
    )
    assert "metadata/0: 2 of its replicas are on rack" in found(
        node("01", machine="rack"), node("2", machine="rack"), node("3")
    )
    assert "cluster: n1 leads 4 shards, n2 0" in found(node("0123"), node(), node())
    assert "metadata/1: 1 replicas: the loss of one stops its writes" in found(node("0123"))
    assert "n1: clocks differ" in found(node("01", alarms=["clocks differ"]), node("2"), node("3"))


def test_paused_and_failing_controllers_are_found() -> None:
    failing = ControllerReport(name="toy", shard="metadata/0", error="bad")
    finds = of_status("n1", node(paused=["slow"], controllers=[failing]))

    assert [each.found for each in finds] == [
        "controller slow is paused",
        "controller toy fails for metadata/0: bad",
    ]


def test_a_disk_that_damages_data_is_found_when_that_is_repaired() -> None:
    healed = [DamageReport(what=f"block {each}", healed_at_ms=each) for each in (7, 9, 8)]
    open_ = DamageReport(what="block 10")

    [finding] = of_status("n1", node(damage=[*healed, open_]))
    assert (finding.where, finding.found) == (
        "n1",
        "its disk has damaged data 3 times, which was repaired; last: block 9",
    )
    assert list(of_status("n1", node(damage=[open_]))) == []


@pytest.mark.parametrize(
    ("name", "labels", "value", "what"),
    [
        ("quorate_tls_end_timestamp_seconds", {"file": "a.pem"}, 86_400.0, "a.pem ends in 1 days"),
        ("process_open_fds", {}, 900.0, "900 of 1000 file descriptors"),
        ("quorate_loop_longest_stop_seconds", {}, 0.5, "stood still for 500 ms"),
        ("quorate_rocksdb_write_stopped", {"database": "log"}, 1.0, "has stopped writes"),
        ("quorate_audit_lost_records_total", {}, 1.0, "audit log were lost"),
        ("quorate_limits_refused_total", {"setting": "open_calls"}, 3.0, "limits.open_calls"),
    ],
)
def test_each_metric_is_judged(name: str, labels: dict[str, str], value: float, what: str) -> None:
    most: dict[str, Any] = {"process_max_fds": [({}, 1_000.0)]}
    sound = 1e9 if "tls" in name else 0.0

    assert list(of_metrics("n1", {**most, name: [(labels, sound)]}, now_s=0.0)) == []
    [finding] = of_metrics("n1", {**most, name: [(labels, value)]}, now_s=0.0)
    assert what in finding.found


def test_a_slow_disk_is_found_by_the_histogram_of_its_syncs() -> None:
    def buckets(slow: float) -> Any:
        counts = [("0.01", 1_000.0 - slow), ("0.1", 1_000.0 - slow), ("+Inf", 1_000.0)]
        return {"quorate_log_sync_seconds_bucket": [({"le": le}, n) for le, n in counts]}

    assert list(of_metrics("n1", buckets(5), now_s=0.0)) == []
    [finding] = of_metrics("n1", buckets(50), now_s=0.0)
    assert finding.found == "one fsync of a hundred takes more than 100 ms"


def test_quotas_that_are_nearly_used_up_are_found() -> None:
    row = {"kind": "tenant", "name": "a", "quota": "rows", "limit": 10}

    assert list(of_quotas([{**row, "used": 8}, {**row, "limit": 0, "used": 9}])) == []
    [finding] = of_quotas([{**row, "used": 9}])
    assert (finding.where, finding.found) == ("tenant a", "9 of 10 rows are used")


def test_a_configuration_is_judged_for_its_machine(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0" * 43)
    token.chmod(0o600)
    file = tmp_path / "quorate.toml"
    file.write_text(
        f'[node]\ndir = "{tmp_path}/data"\n'
        "[cluster.initial_members]\n"
        'node1 = "127.0.0.1:1"\nnode2 = "127.0.0.1:2"\n'
        f"[storage]\nblock_cache_bytes = {2**50}\n"
        f'[auth]\nroot_token_file = "{token}"\n'
    )
    findings = of_machine(load(file, {}, {}))

    wheres = {each.where for each in findings}
    assert wheres >= {"storage", "cluster.initial_members", "auth.root_token_file"}


def test_measuring_a_disk_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()

    assert fsync_s(disk) >= 0
    assert list(disk.iterdir()) == []


@pytest.mark.ci
def test_a_cluster_of_one_node_is_told_what_it_lacks_and_goes_into_a_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "node1.log"
    log.write_text("it began\n")
    file = tmp_path / "bundle.zip"
    with Cluster(tmp_path / "cluster", nodes=1, tls=False) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as client:
            client.kv.put("hidden/key", b"a value that is nobody's business")
        asked = ["--endpoints", cluster.endpoints, "--output", "json"]
        status = main(["doctor", *asked])
        out, err = capsys.readouterr()
        assert (err, status) == ("", 1)
        rows = json.loads(out)
        assert main(["debug", "bundle", str(file), "--log", str(log), *asked]) == 0
        assert main(["debug", "bundle", str(file), *asked]) == 1
        assert "already exists" in capsys.readouterr().err

    assert {"metadata/0"} <= {row["where"] for row in rows}
    assert not [row for row in rows if "metrics cannot be read" in row["found"]]
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert parts["logs/1-node1.log"] == "it began\n"
    assert json.loads(parts["nodes/node1/status.json"])["node"] == "node1"
    assert "quorate_node_info" in parts["nodes/node1/metrics.txt"]
    assert "quorate" in json.loads(parts["versions.json"])["distributions"]
    assert {row["where"] for row in json.loads(parts["doctor.json"])} >= {"metadata/0"}
    assert "[node]" in parts["configuration.toml"]
    assert not [name for name, text in parts.items() if "nobody's" in text or "hidden" in text]
    assert file.stat().st_mode & 0o777 == 0o600
