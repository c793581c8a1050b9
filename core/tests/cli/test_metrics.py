"""`quorate metrics`: files that Prometheus and Grafana read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.tests.cli.conftest import Run


def test_alerts_are_printed_as_rules(run: Run) -> None:
    done = run("metrics", "export", "alerts")

    assert done.code == 0
    assert done.out.startswith("groups:\n  - name: quorate\n    rules:\n      - alert: Quorate")


def test_a_dashboard_is_printed_as_one_object(run: Run) -> None:
    done = run("metrics", "export", "dashboard")

    assert done.code == 0
    assert json.loads(done.out)["uid"] == "quorate"
