"""What a killed process leaves in its scratch folder is removed by the next one."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from quorate_spark.source.scratch import scratch_folder

WORKER = """
import sys
from quorate_spark.source.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "0-0").write_bytes(b"sorted")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_nothing_stays_behind_and_nothing_of_others_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {"TMPDIR": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-c", WORKER]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=environment) as worker:
        assert worker.stdout is not None
        of_worker = Path(worker.stdout.readline().strip())
        with scratch_folder() as folder:
            assert sorted(tmp_path.iterdir()) == sorted([folder, of_worker])
        worker.kill()
        worker.wait()
    assert list(tmp_path.iterdir()) == [of_worker]
    with scratch_folder() as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []
