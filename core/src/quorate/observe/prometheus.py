"""Renders rules for Prometheus and a dashboard for Grafana from declared metrics."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from quorate.plugin import Metric
from quorate.plugin.advanced import Alert

#: Grafana's unit by the last word of a metric's name.
_UNITS: Final = {"seconds": "s", "bytes": "bytes", "total": "ops"}
_COLUMNS: Final = 3
_WIDTH: Final = 24 // _COLUMNS
_HEIGHT: Final = 7
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
#: On top of the dashboard: title, expression, and whether any value above 0 is bad.
_STATS: Final = (
    ("Nodes ready", "sum(quorate_node_ready)", False),
    ("Replicas stopped", "sum(quorate_shard_stopped)", True),
    (
        "Shards without a leader",
        'count(sum by (shard) (quorate_raft_role{role="leader"}) == 0) or vector(0)',
        True,
    ),
    ("Alerts", 'count(ALERTS{alertname=~"Quorate.*", alertstate="firing"}) or vector(0)', True),
)


def rules(alerts: Iterable[Alert]) -> str:
    """Return a file of rules, in YAML."""
    lines = ["groups:", "  - name: quorate", "    rules:"]
    for alert in alerts:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {json.dumps(alert.expression)}",
            f"        for: {alert.for_s}s",
            "        labels:",
            f"          severity: {alert.severity}",
            "        annotations:",
            f"          summary: {json.dumps(alert.meaning)}",
            f"          description: {json.dumps(alert.action)}",
        ]
    return "\n".join([*lines, ""])


def dashboard(metrics: Sequence[Metric]) -> Mapping[str, Any]:
    """Return a dashboard with a row for each part, and a panel for each metric of it."""
    return {
        "uid": "quorate",
        "title": "Quorate",
        "tags": ["quorate"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": list(_variables())},
        "panels": list(_panels(metrics)),
    }


def _variables() -> Iterator[Mapping[str, Any]]:
    yield {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}
    yield {
        "name": "instance",
        "label": "Node",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(quorate_node_info, instance)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
    }


def _panels(metrics: Sequence[Metric]) -> Iterator[Mapping[str, Any]]:
    number = y = 0
    for number, (title, expression, bad) in enumerate(_STATS, 1):
        steps = [{"color": "green", "value": None}, {"color": "red", "value": 1}]
        yield {
            "id": number,
            "type": "stat",
            "title": title,
            "datasource": _SOURCE,
            "gridPos": {"x": 6 * (number - 1), "y": 0, "w": 6, "h": 4},
            "targets": [{"refId": "A", "expr": expression, "instant": True}],
            "fieldConfig": {
                "defaults": {"thresholds": {"mode": "absolute", "steps": steps[: 1 + bad]}}
            },
        }
    y = 4
    for part, of_part in groupby(sorted(metrics, key=_part), key=_part):
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": part,
            "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
        }
        y += 1
        for column, metric in enumerate(of_part):
            number += 1
            x = column % _COLUMNS * _WIDTH
            if column and not x:
                y += _HEIGHT
            place = {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT}
            yield {"id": number, "gridPos": place, **_panel(metric)}
        y += _HEIGHT


def _part(metric: Metric) -> str:
    return metric.name.split("_")[1]


def _panel(metric: Metric) -> Mapping[str, Any]:
    words = metric.name.split("_")
    unit = _UNITS.get(words[-1], "short")
    return {
        "type": "timeseries",
        "title": " ".join(words[1:-1] if words[-1] in _UNITS else words[1:]),
        "description": metric.help,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}},
        "options": {"tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": expression, "legendFormat": legend}
            for place, (expression, legend) in enumerate(_targets(metric))
        ],
    }


def _targets(metric: Metric) -> Iterator[tuple[str, str]]:
    by = ("instance", *metric.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in by)
    chosen = '{instance=~"$instance"}'
    if metric.kind == "counter":
        yield f"sum by ({', '.join(by)}) (rate({metric.name}{chosen}[$__rate_interval]))", legend
    elif metric.kind == "gauge":
        yield f"{metric.name}{chosen}", legend
    else:
        rates = f"rate({metric.name}_bucket{chosen}[$__rate_interval])"
        for share in (0.5, 0.99):
            yield (
                f"histogram_quantile({share}, sum by ({', '.join(('le', *by))}) ({rates}))",
                f"p{round(share * 100)} {legend}",
            )
