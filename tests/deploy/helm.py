"""Helm, as it is installed or as Go builds it, and the files that it makes of the chart."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "quorate"
MODULE = "helm.sh/helm/v3/cmd/helm@v3.16.4"
#: To be built by Go it takes minutes, once on a machine.
MARK = pytest.mark.ci if shutil.which("helm") else pytest.mark.full


@cache
def helm() -> str:
    """Return the program; skip the test where there is neither it nor a Go that builds it."""
    if installed := shutil.which("helm"):
        return installed
    if shutil.which("go") is None:
        pytest.skip("neither helm nor go, which can build it, is installed")
    folder = Path(tempfile.gettempdir()) / f"quorate-helm-{os.getuid()}"
    built = folder / MODULE.rpartition("@")[2]
    if not (built / "helm").exists():
        done = subprocess.run(
            ["go", "install", MODULE],
            env={**os.environ, "GOBIN": str(built)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"go cannot build helm: {done.stderr.strip().splitlines()[-1]}")
    return str(built / "helm")


def rendered(*options: str) -> dict[str, Any]:
    """Return the objects of the release q in the namespace ns, by kind and name."""
    command = [helm(), "template", "q", str(CHART), "--namespace", "ns", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}
