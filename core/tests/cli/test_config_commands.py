from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run


def test_show_prints_every_default(run: Run, install: Install) -> None:
    install("notes")

    ran = run("config", "get")

    shown = tomllib.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert shown["node"]["port"] == 7401
    assert shown["plugins"]["notes"] == {"most": 3}


def test_show_as_json_says_the_same(run: Run) -> None:
    shown = tomllib.loads(run("config", "get").out)

    assert json.loads(run("config", "get", "--output", "json").out) == shown


def test_the_file_here_is_read_and_the_environment_lies_over_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("quorate.toml").write_text('[node]\nname = "here"\nport = 7500\n')
    monkeypatch.setenv("QUORATE__NODE__PORT", "7600")

    node = tomllib.loads(run("config", "get").out)["node"]

    assert (node["name"], node["port"]) == ("here", 7600)


def test_option_before_environment_before_the_file_here(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("quorate", "variable", "option"):
        Path(f"{name}.toml").write_text(f'[node]\nname = "{name}"\n')

    def name_of(*args: str) -> object:
        return tomllib.loads(run(*args, "config", "get").out)["node"]["name"]

    assert name_of() == "quorate"
    monkeypatch.setenv("QUORATE_CONFIG", "variable.toml")
    assert name_of() == "variable"
    assert name_of("--config", "option.toml") == "option"


def test_check_names_the_file_that_is_right(run: Run) -> None:
    Path("mine.toml").write_text('[node]\nname = "mine"\n')

    ran = run("--config", "mine.toml", "config", "check", "--output", "json")

    assert ran.code == 0
    assert json.loads(ran.out) == [{"file": "mine.toml", "plugins": [], "result": "right"}]


def test_check_warns_of_what_is_right_and_unwise(run: Run) -> None:
    Path("quorate.toml").write_text("[timing]\nheartbeat_ms = 400\nelection_min_ms = 500\n")

    ran = run("config", "check")

    assert ran.code == 0
    assert ran.err.startswith("warning: timing.election_min_ms (500)")


def test_everything_that_is_wrong_is_told_at_once(run: Run, install: Install) -> None:
    install("notes")
    Path("quorate.toml").write_text(
        '[node]\nprot = 1\n\n[timing]\nheartbeat_ms = "fast"\n\n[plugins.notes]\nmost = true\n'
    )

    ran = run("config", "check")

    assert ran.code == 3
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert [line.split(": ")[:3] for line in lines] == [
        ["error", "quorate.toml:2", "node.prot"],
        ["error", "quorate.toml:5", "timing.heartbeat_ms"],
        ["error", "quorate.toml:8", "plugins.notes.most"],
    ]


def test_what_is_wrong_is_told_in_parts_to_a_program(run: Run) -> None:
    Path("quorate.toml").write_text("[node]\nprot = 1\n")

    ran = run("config", "get", "--output", "json")

    told = json.loads(ran.err)
    assert told["exit_code"] == ran.code == 3
    [error] = told["errors"]
    assert (error["file"], error["line"], error["key"]) == ("quorate.toml", 2, "node.prot")
    assert "port" in error["fix"]


def test_a_missing_file_is_one_sentence(run: Run) -> None:
    ran = run("--config", "nowhere.toml", "config", "check")

    assert ran.code == 3
    assert ran.err.startswith("error: nowhere.toml: there is no such file; ")
    assert ran.err.count("\n") == 1


def test_the_section_of_a_broken_plugin_is_not_the_users_mistake(
    run: Run, install: Install
) -> None:
    install("torn", "raise ImportError('no shelf')")
    Path("quorate.toml").write_text("[plugins.torn]\nsize = 3\n")

    assert run("config", "check").code == 0


def test_check_refuses_what_the_start_of_a_node_refuses(run: Run) -> None:
    Path("quorate.toml").write_text(
        '[node]\nname = "q9"\ndir = "data"\n\n[cluster.initial_members]\nq1 = "127.0.0.1:7401"\n'
        "\n[groups.x]\nshards = 2\n"
        '\n[tls]\ncert_file = "no.pem"\nkey_file = "no.key"\nca_file = "ca.pem"\n'
        '\n[audit]\nfile = "nowhere/audit.log"\n'
        '\n[auth]\nissuer_keys_file = "no.jwk"\nissuer = "i"\naudience = "a"\n'
    )

    ran = run("config", "check")

    assert (ran.code, ran.out) == (3, "")
    assert [
        line.partition(": ")[2].split(";")[0].split(",")[0] for line in ran.err.splitlines()
    ] == [
        "[groups] names x",
        "q9 is not among the initial members q1",
        "no.pem cannot be read: No such file or directory",
        "no.jwk cannot be read: No such file or directory",
        "nowhere is no directory",
    ]
    # The authority may write the files a moment later.
    assert run("serve").code == 1
    assert not Path("data").exists()


def test_the_start_of_a_node_ends_before_its_directory_is_made(run: Run) -> None:
    Path("quorate.toml").write_text('[node]\ndir = "data"\n\n[groups.x]\nshards = 2\n')

    checked, served = run("config", "check"), run("serve")

    assert (checked.code, checked.err) == (3, served.err)
    assert served.code == 3
    assert not Path("data").exists()


def test_check_looks_into_the_directory_and_changes_nothing(run: Run) -> None:
    Path("quorate.toml").write_text(
        '[node]\nname = "q9"\ndir = "data"\n\n[cluster.initial_members]\nq1 = "127.0.0.1:7401"\n'
    )
    Path("data").mkdir()
    Path("data/cluster.copy").write_bytes(bytes(16) + b"of another token")

    ran = run("config", "check")

    assert ran.code == 3
    assert "belongs to a cluster with another token" in ran.err
    assert [each.name for each in Path("data").iterdir()] == ["cluster.copy"]


def test_schema_has_the_sections_of_core_and_of_plugins(run: Run, install: Install) -> None:
    install("notes")

    ran = run("config", "get", "--schema")

    schema = json.loads(ran.out)
    assert "timing" in schema["properties"]
    assert "Most notes." in ran.out
