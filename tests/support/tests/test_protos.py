"""The generated code of the workspace's own messages is what its sources generate."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROTOS = [str(path.relative_to(ROOT)) for path in ROOT.glob("tests/support/*/v1/*.proto")]


@pytest.mark.skipif(
    find_spec("grpc_tools") is None, reason="the tox env `proto` has the one generator"
)
def test_the_bytes_that_are_committed_are_what_the_sources_generate(tmp_path: Path) -> None:
    outputs = [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", *outputs, *PROTOS]
    subprocess.run(command, cwd=ROOT, check=True)

    generated = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(generated) == 2 * len(PROTOS)
    for path in generated:
        assert path.read_bytes() == (ROOT / path.relative_to(tmp_path)).read_bytes()
