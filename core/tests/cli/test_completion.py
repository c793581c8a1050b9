from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.cli import completing
from quorate.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.cli.conftest import FakeNode, Run


@pytest.fixture
def complete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """Return a function that completes the last of these words, as bash asks for it."""
    # A busy machine takes longer than a shell waits.
    monkeypatch.setattr(completing, "_PATIENCE_S", 60.0)

    def complete(*words: str) -> list[str]:
        monkeypatch.setenv("_QUORATE_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("quorate", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            main([])
        written = capsys.readouterr()
        assert written.err == ""
        return [line.removeprefix("plain,") for line in written.out.split()]

    return complete


def test_keys_are_completed(run: Run, node: FakeNode, complete: Callable[..., list[str]]) -> None:
    for key in ("config/a", "config/b", "other", "grüße"):
        run("kv", "put", key, "1")

    assert complete("kv", "get", "config/") == ["config/a", "config/b"]
    assert complete("kv", "delete", "g") == ["grüße"]
    assert complete("kv", "list", "o") == ["other"]
    assert complete("kv", "get", "--hex", "o") == []


def test_no_key_is_offered_that_a_shell_would_carry_out(
    run: Run, node: FakeNode, complete: Callable[..., list[str]]
) -> None:
    for key in ("a", "a;reboot", "a$(reboot)", "a`b`", "a b", "a\nb", "a|b", "a'", "-a", "~a"):
        run("kv", "put", "--", key, "1")
    run("kv", "put", "--hex", "61ff", "00")

    assert complete("kv", "get", "") == ["a"]


def test_nodes_shards_and_groups_are_completed(
    node: FakeNode, complete: Callable[..., list[str]]
) -> None:
    node.know("node1", node2="h:2")

    assert complete("shard", "split", "") == ["metadata/0"]
    assert complete("shard", "move", "metadata/0", "n") == ["node1", "node2"]
    assert complete("node", "drain", "node2") == ["node2"]
    assert complete("group", "grow", "m") == ["metadata"]


def test_what_goes_wrong_completes_nothing(
    nowhere: str, complete: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completing, "_PATIENCE_S", 0.2)

    assert complete("kv", "--endpoints", nowhere, "get", "a") == []
    assert complete("--tls-cert", "x", "kv", "get", "a") == []


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
