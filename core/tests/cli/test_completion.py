from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _quorate_completion quorate"),
        ("fish", "complete --no-files --command quorate"),
        ("zsh", "#compdef quorate"),
    ],
)
def test_the_script_binds_the_completion_to_quorate(run: Run, shell: str, line: str) -> None:
    ran = run("completion", shell)

    assert ran.code == 0
    assert line in ran.out
    assert f"_QUORATE_COMPLETE={shell}_complete" in ran.out
