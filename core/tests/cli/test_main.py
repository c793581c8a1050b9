from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.cli.main import HOST_COMMANDS, main
from quorate.plugin.checks import HOST_CLI_COMMANDS

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run

COMMANDS = '''
import click

@click.group()
def command():
    """Look at notes."""

@command.command()
@click.pass_obj
def show(console):
    """Show notes."""
    console.print([{"name": "milk", "raw": b"\\xff\\x00", "text": b"two", "tags": ["a", "b"]}])

@command.command()
def count():
    """Count notes."""
    return 7

@command.command()
def fail():
    """Fail as click does."""
    raise click.ClickException("the shelf is empty")

@command.command()
def stumble():
    """Fail by mistake."""
    raise KeyError("shelf")

@command.command()
def stop():
    """Be interrupted."""
    raise KeyboardInterrupt

@command.command()
@click.option("--output")
def save(output):
    """Write to a file."""
    click.echo(f"saved to {output}")

@command.group()
def deep():
    """Look deeper."""

@deep.command()
@click.pass_obj
def look(console):
    """Look."""
    console.print([])
'''
BROKEN = "raise ImportError('no shelf')"


def test_the_version_is_that_of_the_distribution(run: Run) -> None:
    assert run("--version").out == f"quorate {version('quorate')}\n"


def test_the_version_is_told_without_heavy_imports() -> None:
    heavy = {"grpc", "google.protobuf", "rich", "pydantic", "pluggy", "quorate.plugin"}
    code = (
        "import sys; from quorate.cli.main import main; assert main(['--version']) == 0; "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[1] == "[]"


def test_help_that_is_remembered_imports_nothing_of_a_cluster_or_a_plugin(run: Run) -> None:
    assert run("--help").code == 0
    heavy = {"asyncio", "google.protobuf", "grpc", "pydantic", "rich", "ssl"}
    code = (
        "import sys; from quorate.cli.main import main; assert main(['--help']) == 0; "
        "print([each for each in sys.modules if each.startswith('quorate')]); "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    own, found = map(ast.literal_eval, done.stdout.splitlines()[-2:])
    assert found == []
    assert set(own) == {
        "quorate",
        "quorate.cli",
        "quorate.cli.deferred",
        "quorate.cli.encoding",
        "quorate.cli.failures",
        "quorate.cli.known",
        "quorate.cli.main",
        "quorate.cli.tables",
        "quorate.cli.terminal",
    }


def test_the_console_script_ends_with_the_exit_code() -> None:
    script = Path(sys.executable).with_name("quorate")

    done = subprocess.run(
        [str(script), "plugin", "bogus"], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: No such command 'bogus'")


def test_the_names_that_are_refused_to_plugins_are_those_of_the_host() -> None:
    assert {command.name for command in HOST_COMMANDS} == HOST_CLI_COMMANDS


def test_without_arguments_there_is_help(run: Run) -> None:
    ran = run()

    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"completion +Print the completion script of a shell\.", ran.out)


def test_help_names_plugin_commands_and_does_not_import_them(run: Run, install: Install) -> None:
    install("notes", commands="raise AssertionError('imported')")

    ran = run("--help")

    assert (ran.code, ran.err) == (0, "")
    assert "notes" in ran.out
    assert "Look at notes." in ran.out
    assert "notes_commands" not in sys.modules


def test_completion_of_names_imports_no_plugin_command(
    run: Run, install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install("notes", commands="raise AssertionError('imported')")
    install("torn", BROKEN)
    monkeypatch.setenv("_QUORATE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "quorate notes")
    monkeypatch.setenv("COMP_CWORD", "1")

    with pytest.raises(SystemExit):
        run()

    written = capsys.readouterr()
    assert written.out == "plain,notes\n"
    assert written.err == ""


@pytest.mark.parametrize(
    "args",
    [("--output", "json", "notes", "show"), ("notes", "--output", "json", "show")],
    ids=["first", "after the group"],
)
def test_output_is_chosen_before_a_command(run: Run, install: Install, args: tuple[str]) -> None:
    install("notes", commands=COMMANDS)

    assert json.loads(run(*args).out)[0]["name"] == "milk"


def test_a_plugin_command_prints_rows_as_json(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    ran = run("notes", "show", "--output", "json")

    assert json.loads(ran.out) == [
        {"name": "milk", "raw": {"base64": "/wA="}, "text": "two", "tags": ["a", "b"]}
    ]
    assert json.loads(run("notes", "deep", "look", "--output=json").out) == []


@pytest.mark.usefixtures("on_a_terminal")
def test_the_last_choice_of_output_counts(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert "┃ name" in run("--output", "json", "notes", "show", "--output", "table").out


@pytest.mark.usefixtures("on_a_terminal")
def test_a_plugin_command_prints_rows_as_a_table(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    lines = run("notes", "show").out.splitlines()

    assert "│ milk │ /wA= │ two  │ a    │" in lines
    assert "│      │      │      │ b    │" in lines


def test_an_option_named_output_of_a_plugin_stays_its_own(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert run("notes", "save", "--output", "file").out == "saved to file\n"


def test_what_a_command_returns_is_no_exit_code(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert run("notes", "count").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bogus"], "error: No such command 'bogus'"),
        (["statsu"], "error: No such command 'statsu'; did you mean status; see `quorate --help`"),
        (["noets"], "error: No such command 'noets'; did you mean notes; see `quorate --help`"),
        (["plugin"], "error: Missing command; see `quorate plugin --help`"),
        (["notes"], "error: Missing command; see `quorate notes --help`"),
        (["plugin", "list", "--bogus"], "error: No such option"),
        (["--output", "xml", "plugin", "list"], "error: Invalid value for '-o' / '--output'"),
        (["completion", "csh"], "error: Invalid value for"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    run: Run, install: Install, args: list[str], message: str
) -> None:
    install("notes", commands=COMMANDS)

    ran = run(*args)

    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(message)
    assert "see `quorate" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("flag", [["--output", "json"], ["--output=json"]])
def test_a_wrong_call_is_told_in_json_when_json_was_asked_for(run: Run, flag: list[str]) -> None:
    ran = run("plugin", "list", "--bogus", *flag)

    told = json.loads(ran.err)
    assert told["exit_code"] == ran.code == 2
    assert told["errors"][0]["fix"] == "see `quorate plugin list --help`"


def test_an_error_of_click_keeps_its_words(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    ran = run("notes", "fail")

    assert (ran.code, ran.out, ran.err) == (1, "", "error: the shelf is empty\n")


def test_an_interrupted_command_has_an_exit_code_of_its_own(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert run("notes", "stop").code == 130


def test_a_mistake_of_the_code_gives_a_message_and_no_traceback(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    ran = run("notes", "stumble")

    assert ran.code == 1
    assert ran.err == (
        "error: KeyError: 'shelf'; this is a bug; run it again with --debug and report the output\n"
    )


def test_debug_shows_the_traceback_and_then_the_message(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    ran = run("--debug", "notes", "stumble")

    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert "notes_commands.py" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: KeyError")


def test_a_broken_plugin_is_left_out_with_a_warning(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)
    install("torn", BROKEN)

    ran = run("notes", "count")

    assert ran.code == 0
    assert ran.err == (
        "warning: plugin torn is broken and left out; `quorate plugin check torn` says why\n"
    )


def test_a_command_of_a_broken_plugin_fails_with_its_problem(run: Run, install: Install) -> None:
    install("torn", BROKEN)

    ran = run("torn", "show", "--output", "json")

    assert ran.code == 4
    [error] = json.loads(ran.err)["errors"]
    assert error["plugin"] == "torn"
    assert "no shelf" in error["what"]


def test_a_plugin_that_is_broken_elsewhere_loses_its_commands_too(
    run: Run, install: Install
) -> None:
    install("notes", commands=COMMANDS, edit=("NAME.rows", "other.rows"))

    helped = run("--help")
    called = run("notes", "count")

    assert "Look at notes." not in helped.out
    assert "plugin notes is broken and left out" in helped.err
    assert called.code == 4
    assert "column family other.rows is not named after the plugin" in called.err


@pytest.mark.parametrize(
    ("commands", "what"),
    [
        ("raise ImportError('no shelf')", "loading its command raised ImportError: no shelf"),
        ("command = 3", "its command is a int, which is not a click command"),
    ],
)
def test_a_plugin_command_that_cannot_be_loaded_names_the_plugin(
    run: Run, install: Install, commands: str, what: str
) -> None:
    install("notes", commands=commands)

    ran = run("notes", "show")

    assert ran.code == 4
    assert ran.err.startswith(f"error: notes (quorate-notes 1.2.3): {what}; ")


def test_what_grpc_tells_of_connections_is_left_out_unless_it_is_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRPC_VERBOSITY", raising=False)
    run("--version")
    assert os.environ["GRPC_VERBOSITY"] == "ERROR"

    monkeypatch.setenv("GRPC_VERBOSITY", "DEBUG")
    run("--version")
    assert os.environ["GRPC_VERBOSITY"] == "DEBUG"


@pytest.mark.usefixtures("on_a_terminal")
def test_a_table_is_as_wide_as_its_terminal(
    run: Run, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("notes", commands=COMMANDS.replace("milk", "x" * 300))
    monkeypatch.setenv("COLUMNS", "60")

    out = run("notes", "show").out

    assert out.count("x") >= 300
    assert max(map(len, out.splitlines())) == 60


def test_in_a_pipe_stand_plain_columns_that_no_width_breaks(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS.replace("milk", "x" * 300))

    assert run("notes", "show").out.splitlines() == [
        "name" + " " * 298 + "raw   text  tags",
        "x" * 300 + "  /wA=  two   a,b",
    ]


@pytest.mark.usefixtures("on_a_terminal")
def test_a_terminal_shows_five_columns_where_not_all_fit_and_none_that_is_empty(
    run: Run, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = ", ".join(f'"column_{number}": {number}' for number in range(15))
    install("notes", commands=COMMANDS.replace('"raw"', f'"none": "", {wide}, "raw"'))
    monkeypatch.setenv("COLUMNS", "80")

    narrow, wide = run("notes", "show").out, run("notes", "show", "-o", "wide").out

    assert re.findall(r"name|none|raw|column_\d+", narrow) == [
        "name",
        *(f"column_{number}" for number in range(4)),
    ]
    assert max(map(len, narrow.splitlines())) <= 80
    assert [line.strip("│ ").split() for line in wide.splitlines() if "column_1 " in line] == [
        ["column_1", "│", "1"]
    ]


def test_names_alone_are_what_another_command_takes(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert run("notes", "show", "-o", "name").out == "milk\n"


def test_yaml_holds_what_json_holds(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert run("notes", "show", "-o", "yaml").out.splitlines() == [
        '- "name": "milk"',
        '  "raw":',
        '    "base64": "/wA="',
        '  "text": "two"',
        '  "tags":',
        '    - "a"',
        '    - "b"',
    ]


def test_what_a_command_writes_is_its_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(_: object) -> str:
        (tmp_path / "written").touch()
        return ""

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quorate.config.render", render)
    before = os.umask(0o022)
    try:
        assert main(["config", "get"]) == 0
        # But for what is to be shared.
        assert main(["cert", "init"]) == 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)

    assert (tmp_path / "written").stat().st_mode & 0o777 == 0o600
    [authority] = tmp_path.rglob("ca.pem")
    assert authority.stat().st_mode & 0o777 == 0o644


def test_a_noun_is_taken_in_singular_and_plural(run: Run, install: Install) -> None:
    install("notes", commands=COMMANDS)

    assert "List the nodes of the cluster" in run("members", "list", "--help").out
    assert json.loads(run("note", "show", "-o", "json").out)[0]["name"] == "milk"
    assert " members " not in run("--help").out


def test_an_exact_name_comes_before_its_other_number(run: Run, install: Install) -> None:
    install("nodes", commands=COMMANDS)

    assert json.loads(run("nodes", "show", "-o", "json").out)[0]["name"] == "milk"
    assert "Drain nodes" in run("--help").out
