"""Writes the rules and the dashboard out of what metrics declare: `python deploy/render.py`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from quorate.node.metrics import declared
from quorate.observe.prometheus import dashboard, rules
from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

ROOT: Final = Path(__file__).parent


def render() -> Mapping[Path, str]:
    """Return the files as they ought to be, for core and the plugins of this repository."""
    metrics = [
        *declared(),
        *(
            metric
            for plugin in installed()
            if (ROOT.parent / "plugins" / plugin.name).is_dir()
            for metric in declare(plugin).metrics
        ),
    ]
    alerts = [metric.alert for metric in metrics if metric.alert is not None]
    return {
        ROOT / "prometheus" / "quorate.rules.yml": rules(alerts),
        ROOT / "grafana" / "quorate.json": json.dumps(dashboard(metrics), indent=1) + "\n",
    }


if __name__ == "__main__":
    for path, content in render().items():
        path.write_text(content, encoding="utf-8")
