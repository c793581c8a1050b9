"""Each alert fires for what it is about, and not before; promtool carries the rules out."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from quorate.node.metrics import declared
from quorate.observe.prometheus import rules
from quorate.plugin.advanced import Alert
from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

STEP_S = 15


class Case(NamedTuple):
    """A series, and its values every 15 s as promtool writes them: `1+2x3` is 1 3 5 7."""

    series: str
    bad: str
    good: str
    #: How long it is bad before the alert fires.
    after_s: int
    #: Others beside it, that are always the same.
    beside: tuple[tuple[str, str], ...] = ()


def steady(series: str, bad: float, good: float, for_s: int = 0) -> Case:
    return Case(series, f"{bad}x600", f"{good}x600", for_s)


CASES = {
    "QuorateNodeDown": steady('up{job="quorate"}', 0, 1, 60),
    "QuorateNodeNotReady": steady("quorate_node_ready", 0, 1, 600),
    "QuorateShardWithoutLeader": steady('quorate_raft_role{role="leader",shard="a/0"}', 0, 1, 30),
    "QuorateLeaderChanges": Case(
        "quorate_raft_leader_changes_total", "0 1 2 4 6 6x600", "0x4 1x600", 90
    ),
    "QuorateFollowerLags": steady("quorate_raft_follower_lag_entries", 10_001, 10_000, 60),
    "QuorateReplicaStopped": steady("quorate_shard_stopped", 1, 0),
    "QuorateDamage": steady("quorate_damage_open", 1, 0),
    "QuorateCanaryFails": Case("quorate_canary_failures_total", "0 0 1x600", "3x600", 60),
    "QuorateWritesRefused": Case("quorate_write_refused_commands_total", "0+5x600", "7x600", 120),
    "QuorateSlowDisk": Case(
        'quorate_log_sync_seconds_bucket{le="0.1"}',
        "0x600",
        "0+9x600",
        360,
        tuple((f'quorate_log_sync_seconds_bucket{{le="{le}"}}', "0+9x600") for le in ("1", "+Inf")),
    ),
    "QuorateLoopBlocked": steady("quorate_loop_longest_stop_seconds", 0.3, 0.2, 120),
    "QuorateHandlerFails": Case("quorate_apply_failures_total", "0 0 1x600", "3x600", 60),
    "QuorateHandlerSlow": Case("quorate_apply_slow_writes_total", "0 0 1x600", "3x600", 60),
    "QuorateCertificateEnds": steady("quorate_tls_end_timestamp_seconds", 600_000, 700_000),
    "QuorateAuditLost": Case("quorate_audit_lost_records_total", "0 0 1x600", "3x600", 60),
    "QuorateDiskFull": steady("quorate_disk_free_bytes", 9e8, 2e9),
    "QuorateTasksFailed": steady('quorate_connector_tasks{state="failed"}', 1, 0),
    "QuorateSegmentsWithoutLeader": steady("quorate_storage_engine_unavailable_segments", 1, 0, 60),
    "QuorateThinSegments": steady("quorate_storage_engine_thin_segments", 1, 0, 600),
}


def known() -> list[Alert]:
    plugins = [metric for plugin in installed() for metric in declare(plugin).metrics]
    return [each.alert for each in (*declared(), *plugins) if each.alert is not None]


def asked(alert: Alert, case: Case) -> list[dict[str, Any]]:
    """Return the tests of an alert: it fires in time, no sooner, and not for what is good."""
    firing = f'count(ALERTS{{alertname="{alert.name}",alertstate="firing"}})'
    once = [{"labels": "{}", "value": 1}]

    def at(seconds: int, fires: bool) -> dict[str, Any]:
        return {"expr": firing, "eval_time": f"{seconds}s", "exp_samples": once if fires else []}

    bad = [at(case.after_s + 4 * STEP_S, True)]
    if alert.for_s:
        bad.append(at(alert.for_s - STEP_S, False))
    return [
        {
            "interval": f"{STEP_S}s",
            "input_series": [
                {"series": series, "values": each}
                for series, each in ((case.series, values), *case.beside)
            ],
            "promql_expr_test": expected,
        }
        for values, expected in ((case.bad, bad), (case.good, [at(1_200, False)]))
    ]


@pytest.mark.ci
def test_each_alert_fires_in_time_and_for_nothing_else(tmp_path: Path) -> None:
    alerts = {each.name: each for each in known()}
    assert set(alerts) == set(CASES)
    (tmp_path / "rules.yml").write_text(rules(alerts.values()))
    tests = [test for name, case in CASES.items() for test in asked(alerts[name], case)]
    content = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": f"{STEP_S}s",
        "tests": tests,
    }
    # JSON is YAML.
    (tmp_path / "tests.yml").write_text(json.dumps(content))

    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed: Debian has it in the package prometheus")
    ran = subprocess.run(
        [promtool, "test", "rules", tmp_path / "tests.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
