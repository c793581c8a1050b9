"""The reference of metrics names what a node shows, all of it and nothing else."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from urllib.request import urlopen

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from prometheus_client.parser import text_string_to_metric_families
from quorate.node.alerts import ALERTS
from quorate.node.metrics import declared
from quorate.observe.prometheus import dashboard, rules
from quorate.plugin import Metric
from quorate.plugin.advanced import Alert, Stub
from quorate.plugin.catalog import build
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin, installed

from tests.support.one_node import run_node, settings_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "observe.md").read_text(encoding="utf-8")
#: Metrics of the page: type, labels and meaning of each.
TOLD = {
    name: (kind, re.findall(r"`(\w+)`", labels), meaning)
    for name, kind, labels, meaning in re.findall(
        r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE
    )
}


def scrape(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        return str(answer.read().decode())


@pytest.fixture
async def shown(tmp_path: Path) -> str:
    """What a node shows that serves the domains of core, and was called once."""
    catalog = build(
        [
            Plugin(
                name=name,
                distribution="quorate",
                version="0",
                module=import_module(f"quorate.builtin.{name}.plugin"),
            )
            for name in ("cluster", "kv", "resource", "schema", "tenant")
        ]
    )
    settings = settings_of(tmp_path, catalog)
    async with (
        run_node(settings, catalog),
        grpc.aio.insecure_channel(settings.node.address) as channel,
    ):
        await Stub(channel, health_pb2.DESCRIPTOR.services_by_name["Health"]).Check(
            health_pb2.HealthCheckRequest()
        )
        return await asyncio.to_thread(scrape, settings.node.http_port)


async def test_every_metric_is_told_and_every_one_that_is_told_is_there(shown: str) -> None:
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", shown, re.MULTILINE))

    assert {name: kind for name, (kind, _, _) in TOLD.items()} == types


async def test_each_is_told_with_its_meaning_and_labels(shown: str) -> None:
    helps = re.findall(r"^# HELP (\w+) (.+)$", shown, re.MULTILINE)
    assert {name: meaning for name, (_, _, meaning) in TOLD.items()} == {
        name: f"{text.rstrip('.')}." for name, text in helps
    }
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(shown):
        for sample in family.samples:
            name = next(each for each in (sample.name, family.name) if each in TOLD)
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    assert {name: set(TOLD[name][1]) for name in found} == found
    # The others need a follower, a controller, or a cache.
    assert len(found) >= 40


def known(metrics: Iterable[Metric]) -> set[str]:
    """Return the names of their series."""
    return {
        f"{each.name}{suffix}"
        for each in metrics
        for suffix in (("_bucket", "_sum", "_count") if each.kind == "histogram" else ("",))
    }


def test_what_is_told_of_alerts_is_what_core_declares() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(.+)` \| (.+) \| (.+) \|$", HOW_TO, re.MULTILINE)

    assert told == [(a.name, a.expression, a.meaning, a.action) for a in ALERTS.values()]
    assert set(ALERTS) <= {each.name for each in declared()}


def test_alerts_and_panels_name_what_is_declared(tmp_path: Path) -> None:
    plugins = [metric for plugin in installed() for metric in declare(plugin).metrics]
    metrics = [*declared(), *plugins]
    alerts = [each.alert for each in metrics if each.alert is not None]
    assert len({each.name for each in alerts}) == len(alerts) > len(ALERTS)

    shown = rules(alerts)
    assert set(re.findall(r"quorate_\w+", shown)) <= known(metrics)

    board = dashboard(metrics)
    panels = [each for each in board["panels"] if each["type"] == "timeseries"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert {name for each in expressions for name in re.findall(r"quorate_\w+", each)} >= {
        each.name for each in metrics if each.kind != "histogram"
    }
    places = [tuple(each["gridPos"].values()) for each in board["panels"]]
    assert len(set(places)) == len(places)
    assert len({each["id"] for each in board["panels"]}) == len(places)

    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed: Debian has it in the package prometheus")
    file = tmp_path / "rules.yml"
    # Prometheus knows what Grafana puts in for its variables.
    recorded = [
        Alert(name="P", expression=each.replace("$__rate_interval", "5m"), meaning="", action="")
        for each in expressions
    ]
    for content in (shown, rules(recorded)):
        file.write_text(content)
        checked = subprocess.run(
            [promtool, "check", "rules", file], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
