from __future__ import annotations

from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry
from quorate.node.plugin_metrics import PluginMetrics
from quorate.plugin import Metric

DECLARED = {
    metric.name: metric
    for metric in (
        Metric(name="a_total", kind="counter", help="A.", labels=("code",)),
        Metric(name="b_bytes", kind="gauge", help="B."),
        Metric(name="c_seconds", kind="histogram", help="C.", labels=("code",)),
    )
}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> PluginMetrics:
    return PluginMetrics(DECLARED, registry)


def test_each_kind_keeps_what_it_is_for(
    metrics: PluginMetrics, registry: CollectorRegistry
) -> None:
    metrics.count("a_total", 2, {"code": "OK"})
    metrics.observe("b_bytes", 7, {})
    metrics.observe("b_bytes", 5, {})
    metrics.observe("c_seconds", 0.5, {"code": "OK"})

    assert registry.get_sample_value("a_total", {"code": "OK"}) == 2
    assert registry.get_sample_value("b_bytes") == 5
    assert registry.get_sample_value("c_seconds_sum", {"code": "OK"}) == 0.5


@pytest.mark.parametrize(
    ("metric", "labels", "what"),
    [
        ("d_total", {}, "metric d_total is not declared"),
        ("a_total", {}, r"has the labels \['code'\], not \[\]"),
        ("b_bytes", {"code": "OK"}, r"has the labels \[\], not \['code'\]"),
        ("b_bytes", {}, "is a gauge: use observe"),
    ],
)
def test_what_was_not_declared_so_is_refused(
    metrics: PluginMetrics, metric: str, labels: Mapping[str, str], what: str
) -> None:
    with pytest.raises((LookupError, ValueError), match=what):
        metrics.count(metric, 1, labels)


def test_a_counter_never_falls_and_is_never_set(metrics: PluginMetrics) -> None:
    with pytest.raises(ValueError, match="a counter never falls"):
        metrics.count("a_total", -1, {"code": "OK"})
    with pytest.raises(ValueError, match="use count"):
        metrics.observe("a_total", 1, {"code": "OK"})


def test_a_gauge_that_is_withdrawn_is_not_told_until_it_is_set_again(
    registry: CollectorRegistry,
) -> None:
    labelled = Metric(name="d_rows", kind="gauge", help="D.", labels=("state", "group"))
    metrics = PluginMetrics({**DECLARED, "d_rows": labelled}, registry)
    one, other = {"state": "up", "group": "a"}, {"group": "b", "state": "up"}
    assert registry.get_sample_value("b_bytes") is None
    for _ in range(2):
        for labels in (one, other):
            metrics.observe("d_rows", 3, labels)
        metrics.observe("b_bytes", 7, {})
        metrics.observe("c_seconds", 0.5, {"code": "OK"})
        assert registry.get_sample_value("b_bytes") == 7

        metrics.withdraw("d_rows", other)
        metrics.withdraw("d_rows", other)
        metrics.withdraw("b_bytes", {})
        metrics.withdraw("b_bytes", {})
        metrics.withdraw("c_seconds", {"code": "OK"})

        assert registry.get_sample_value("d_rows", one) == 3
        assert registry.get_sample_value("d_rows", other) is None
        assert registry.get_sample_value("b_bytes") is None
    assert registry.get_sample_value("c_seconds_count", {"code": "OK"}) == 2
