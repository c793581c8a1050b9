"""Rates and latencies, from the metrics of nodes at two moments."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from quorate.cli.activity import Activity
from quorate.cli.samples import bucket_of, samples_in

METRICS = """
# TYPE quorate_write_duration_seconds histogram
quorate_write_duration_seconds_bucket{{le="0.001",shard="kv/0"}} {quick}
quorate_write_duration_seconds_bucket{{le="0.1",shard="kv/0"}} {writes}
quorate_write_duration_seconds_bucket{{le="+Inf",shard="kv/0"}} {writes}
quorate_write_entry_commands_sum{{shard="kv/0"}} {commands}
quorate_rpc_calls_total{{code="OK",method="/a.B/Get"}} {calls}
quorate_rpc_calls_total{{code="ABORTED",method="/a.B/Get"}} {failed}
quorate_rpc_duration_seconds_bucket{{le="0.005",method="/a.B/Get"}} {calls}
quorate_rpc_duration_seconds_bucket{{le="+Inf",method="/a.B/Get"}} {calls}
quorate_rpc_open_calls{{method="/a.B/Watch"}} 3
quorate_watch_open_watches 4
quorate_disk_free_bytes 2e9
quorate_raft_term{{shard="kv/0"}} 7
"""


def moment(at_s: float, **counts: int) -> Activity:
    return Activity(at_s=at_s, samples={"n1": samples_in(METRICS.format(**counts), ("quorate_",))})


BEFORE = moment(10.0, quick=90, writes=100, commands=500, calls=50, failed=0)
NOW = moment(20.0, quick=110, writes=200, commands=900, calls=150, failed=10)


def test_rates_and_latencies_are_those_between_two_moments() -> None:
    found = NOW.since(BEFORE)

    [written] = found.writes()
    assert written == {
        "shard": "kv/0",
        "node": "n1",
        "writes_per_s": 10.0,
        "commands_per_s": 40.0,
        "p50_ms": 100.0,
        "p99_ms": 100.0,
    }
    [called] = found.calls()
    assert called == {
        "method": "a.B/Get",
        "calls_per_s": 11.0,
        "failed_per_s": 1.0,
        "open": 0,
        "p50_ms": 5.0,
        "p99_ms": 5.0,
    }


def test_without_another_moment_there_are_latencies_and_no_rates() -> None:
    [written] = NOW.since(None).writes()

    assert (written["writes_per_s"], written["p50_ms"]) == (None, 1.0)


def test_a_node_that_began_anew_counts_from_nothing() -> None:
    anew = moment(20.0, quick=5, writes=10, commands=20, calls=50, failed=0)

    [written] = anew.since(BEFORE).writes()
    assert written["writes_per_s"] == 1.0


def test_a_shard_that_was_not_written_to_is_left_out() -> None:
    assert list(BEFORE.since(BEFORE).writes()) == []


def test_nodes_say_what_they_have_open() -> None:
    [node] = NOW.since(BEFORE).nodes()

    assert (node["watches"], node["open_calls"], node["disk_free_gb"]) == (4, 3, 2.0)
    assert node["fsync_p99_ms"] is None


def test_samples_are_of_the_metrics_that_are_asked_for() -> None:
    text = METRICS.format(quick=1, writes=1, commands=1, calls=1, failed=1)

    assert samples_in(text, ("quorate_raft_",)) == {"quorate_raft_term": [({"shard": "kv/0"}, 7.0)]}


LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)


@given(st.lists(st.tuples(LABELS, LABELS, st.floats(allow_nan=False)), max_size=4))
def test_samples_are_read_as_prometheus_reads_them(
    values: list[tuple[str, str, float]],
) -> None:
    family = GaugeMetricFamily("toy", "A toy.", labels=["a", "b_2"])
    for first, second, value in values:
        family.add_metric([first, second], value)
    registry = CollectorRegistry()
    registry.register(type("Toys", (), {"collect": lambda _: [family]})())
    text = generate_latest(registry).decode()
    [read] = text_string_to_metric_families(text)

    assert samples_in(text, ("toy",)).get("toy", []) == [
        (each.labels, each.value) for each in read.samples
    ]


@pytest.mark.parametrize(
    ("share", "bucket"), [(0.5, (0.0, 1.0)), (0.51, (1.0, 2.0)), (0.99, (2.0, float("inf")))]
)
def test_a_quantile_is_in_a_bucket(share: float, bucket: tuple[float, float]) -> None:
    assert bucket_of([(float("inf"), 10), (1.0, 5), (2.0, 9)], share) == bucket
    assert bucket_of([(1.0, 0)], share) == (0.0, 0.0)
