from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from quorate.observe.failpoints import VARIABLE, arm, arm_from, disarmed, failpoint


def test_nothing_happens_where_nothing_is_armed() -> None:
    failpoint("test.point")


def test_what_is_armed_happens_under_its_name_alone_and_for_as_long_as_it_is() -> None:
    seen: list[str] = []
    with arm("test.point", lambda: seen.append("here")):
        failpoint("test.other")
        failpoint("test.point")
        failpoint("test.point")
    failpoint("test.point")

    assert seen == ["here", "here"]


def test_nothing_happens_where_everything_is_disarmed() -> None:
    seen: list[str] = []
    with arm("test.point", lambda: seen.append("armed")):
        with suppress(LookupError), disarmed():
            failpoint("test.point")
            raise LookupError
        assert seen == []
        failpoint("test.point")

    assert seen == ["armed"]


def test_a_process_is_killed_where_its_environment_says() -> None:
    code = (
        "from quorate.observe.failpoints import failpoint\n"
        "failpoint('a.first'); print('between', flush=True); failpoint('b.second'); print('no')"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, VARIABLE: "x=kill, b.second=kill"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert process.returncode == -9, process.stderr
    assert process.stdout == "between\n"


def test_a_disk_is_full_as_long_as_a_path_is_there(tmp_path: Path) -> None:
    arm_from(f"test.full=full:{tmp_path / 'full'}")
    failpoint("test.full")
    (tmp_path / "full").touch()
    with pytest.raises(OSError, match="No space left"):
        failpoint("test.full")


@pytest.mark.parametrize("text", ["point", "point=stop", "=kill"])
def test_a_text_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write <failpoint>=kill"):
        arm_from(text)
