from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.cli import protos
from quorate.cli.deprecated_uses import deprecated_uses
from quorate.plugin.discovery import installed

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run

TORN = "raise ImportError('no shelf')"
MISSPELT = """
from quorate.plugin import *
from quorate.plugin.advanced import *
@hookimpl
def quorate_comands():
    return []
@hookimpl
def quorate_declarations():
    return [ColumnFamily(name="other.rows", group="nowhere")]
"""
PLACELESS = """
from google.protobuf.wrappers_pb2 import StringValue
from quorate.plugin import *
from quorate.plugin.advanced import *
def handle(txn, command):
    return None
@hookimpl
def quorate_declarations():
    return [
        RaftGroup(name="placeless"),
        ColumnFamily(name="placeless.totals", group="placeless"),
        Command(message=StringValue, group="placeless", examples=(StringValue(value="k"),),
                apply=handle, shard_key=lambda command: command.value.encode()),
    ]
"""


AGED = """
from quorate.plugin.advanced import answer_each, read_range as whole
def rows(reader, family):
    yield from whole(reader, family, b"", b"z")
    yield from reader.get_spliced(family, [], None)
    yield from advanced.read_each(reader, family, [])
"""


def test_list_tells_all_that_a_plugin_declares(run: Run, install: Install) -> None:
    install("notes")

    ran = run("plugin", "list", "--output", "json")

    assert (ran.code, ran.err) == (0, "")
    listed = {plugin["name"]: plugin for plugin in json.loads(ran.out)}
    assert listed["notes"] == {
        "name": "notes",
        "distribution": "quorate-notes",
        "version": "1.2.3",
        "state": "available",
        "groups": ["notes"],
        "families": ["notes.rows"],
        "commands": ["google.protobuf.StringValue"],
        "queries": ["google.protobuf.BytesValue"],
        "controllers": ["notes.expiry", "notes.keeping"],
        "services": ["notes.v1.NoteService"],
        "problems": [],
    }


@pytest.mark.usefixtures("on_a_terminal")
def test_list_as_a_table_fits_a_terminal(run: Run, install: Install) -> None:
    install("notes")
    install("torn", TORN)

    out = run("plugin", "list", "-o", "wide").out

    assert max(map(len, out.splitlines())) <= 100
    assert "\\n" not in out
    assert "│   google.protobuf.StringValue " in out
    assert "importing torn_plugin raised" in out


def test_list_takes_the_state_from_the_configuration(run: Run, install: Install) -> None:
    install("notes")
    install("torn", TORN)
    Path("quorate.toml").write_text('[plugins]\nenabled = ["notes", "torn"]\n')

    ran = run("plugin", "list", "--output", "json")

    states = {plugin["name"]: plugin["state"] for plugin in json.loads(ran.out)}
    assert ran.code == 0
    assert states["notes"] == "enabled"
    assert states["torn"] == "broken"


def test_list_fails_on_a_wrong_configuration(run: Run) -> None:
    Path("quorate.toml").write_text('[plugins]\nenabled = ["nots"]\n')

    assert run("plugin", "list").code == 3


def test_check_is_content_with_a_sound_plugin(run: Run, install: Install) -> None:
    install("notes")
    install("torn", TORN)

    ran = run("plugin", "check", "notes", "--output", "json")

    assert ran.code == 0
    assert json.loads(ran.out) == [
        {
            "name": "notes",
            "distribution": "quorate-notes",
            "version": "1.2.3",
            "result": "sound",
            "generated code": "no sources here",
            "notes": [],
            "deprecated": [],
        }
    ]


def test_check_tells_each_use_of_a_deprecated_name(run: Run, install: Install) -> None:
    install("aged", PLACELESS.replace("placeless", "aged") + AGED)

    ran = run("plugin", "check", "aged", "--output", "json")

    assert ran.code == 0
    [row] = json.loads(ran.out)
    told = [each.rpartition("/")[2] for each in row["deprecated"]]
    first = len(PLACELESS.splitlines()) + 2
    says = "is deprecated since 0.2 and will be removed in 0.4; write"
    assert told == [
        f"aged_plugin.py:{first}: read_range {says} reader.scan(family, start, end), without a "
        "limit",
        f"aged_plugin.py:{first + 2}: read_range {says} reader.scan(family, start, end), without "
        "a limit",
        f"aged_plugin.py:{first + 3}: get_spliced {says} get_rows(family, keys), and build the "
        "answers of the rows",
        f"aged_plugin.py:{first + 4}: read_each {says} reader.get_rows(family, keys)",
    ]


def test_the_plugins_of_the_workspace_use_no_deprecated_name() -> None:
    used = [each for plugin in installed() for each in deprecated_uses(plugin)]

    assert not used, "\n".join(used)


def test_reference_has_what_the_proto_files_say(run: Run) -> None:
    ran = run("plugin", "reference", "tenant")

    assert (ran.code, ran.err) == (0, "")
    assert {
        "## `tenant`",
        "### `tenant.tenants`",
        "The row of a tenant.",
        "| Mirrored | shards of other groups have copies of the rows |",
        "| `limits` | `map<string, uint64>` | By name, at most 64; each is enforced by the plugin "
        "that names it. What is not named is not limited. |",
        "| `CreateBatch` | Create | batch | `CreateTenants` | `BatchReply` | Answered with one "
        "Tenant an item, encoded; so are all batches of this service. |",
        "| `Get` | Get | single | `GetTenantRequest` | `Tenant` | NOT_FOUND when there is none. |",
        "| `List` | List | page | `ListTenants` | `TenantPage` |  |",
    } <= set(ran.out.splitlines())


@pytest.mark.parametrize(
    ("name", "code", "what"),
    [
        ("nots", 4, "no plugin nots is installed"),
        ("torn", 4, "importing torn_plugin raised ImportError: no shelf"),
        ("notes", 1, "plugin notes declares no resource"),
    ],
)
def test_reference_names_why_there_is_none(
    run: Run, install: Install, name: str, code: int, what: str
) -> None:
    install("notes")
    install("torn", TORN)

    ran = run("plugin", "reference", name)

    assert (ran.code, ran.out) == (code, "")
    assert what in ran.err


@pytest.fixture
def sources(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin that is installed from its sources, with code that was generated of them."""
    install("drawn", "")
    (tmp_path / "site" / "drawn_plugin.py").unlink()
    folder = tmp_path / "drawn"
    root = folder / "src"
    root.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    (root / "drawn_plugin.py").write_text("")
    (root / "drawn.proto").write_text('syntax = "proto3";')
    (root / "drawn_pb2.py").write_bytes(b"generated")
    monkeypatch.syspath_prepend(str(root))
    # Another test's module of that name lies elsewhere.
    monkeypatch.delitem(sys.modules, "drawn_plugin", raising=False)
    return root


@pytest.fixture
def compiled(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a compiler be installed that always gives the same."""
    generated = protos.Generated({"drawn_pb2.py": b"generated"}, b"")
    monkeypatch.setattr(protos, "find_spec", lambda _: object())
    monkeypatch.setattr(protos, "generate", lambda _: generated)
    monkeypatch.setattr(protos, "source_of", lambda folder: protos.Source(folder, (), folder))


@pytest.mark.usefixtures("compiled")
def test_check_finds_generated_code_that_is_stale(run: Run, sources: Path) -> None:
    [row] = json.loads(run("plugin", "check", "drawn", "--output", "json").out)
    assert row["generated code"] == "up to date"
    (sources / "drawn_pb2.py").write_bytes(b"of an older source")

    ran = run("plugin", "check", "drawn")

    assert ran.code == 4
    stale = f"{sources / 'drawn_pb2.py'} differs from the code that its source generates"
    assert f"{stale}; run `quorate" in ran.err


@pytest.mark.usefixtures("sources")
def test_check_says_when_generated_code_cannot_be_checked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protos, "find_spec", lambda _: None)

    [row] = json.loads(run("plugin", "check", "drawn", "--output", "json").out)

    assert row["generated code"].startswith("not checked: grpcio-tools")


def test_check_notes_private_rows_that_stay_when_shards_grow(run: Run, install: Install) -> None:
    install("placeless", PLACELESS)

    [row] = json.loads(run("plugin", "check", "placeless", "--output", "json").out)

    assert row["notes"] == [
        "placeless.totals is private and has no shard_key: its rows are their shard's own, and "
        "stay there when shards grow"
    ]


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_check_finds_a_handler_that_is_async(run: Run, install: Install, kind: str) -> None:
    install(
        "waiting", PLACELESS.replace("placeless", "waiting").replace("def handle", f"{kind} handle")
    )

    ran = run("plugin", "check", "waiting")

    assert ran.code == (4 if kind == "async def" else 0)
    assert ("is an async function; define it with def" in ran.err) == (kind == "async def")


def test_check_tells_all_problems_of_all_plugins_at_once(run: Run, install: Install) -> None:
    install("misspelt", MISSPELT)
    install("notes")
    install("old", "", requires="quorate<0.0.1")
    install("torn", TORN)

    ran = run("plugin", "check", "--output", "json")

    assert ran.code == 4
    errors = json.loads(ran.err)["errors"]
    told = [(error["plugin"], error["what"].split(";")[0]) for error in errors]
    assert ("misspelt", "quorate_comands is not a hook") in told
    assert ("misspelt", "column family other.rows is not named after the plugin") in told
    assert ("torn", "importing torn_plugin raised ImportError: no shelf") in told
    assert "old" in {plugin for plugin, _ in told}
    assert "notes" not in {plugin for plugin, _ in told}
    for error in errors:
        assert error["distribution"] == f"quorate-{error['plugin']}"
        assert error["version"] == "1.2.3"
        assert error["fix"]


def test_check_for_people_has_a_line_for_each_problem(run: Run, install: Install) -> None:
    install("misspelt", MISSPELT)

    ran = run("plugin", "check", "misspelt")

    assert ran.code == 4
    lines = ran.err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: misspelt (quorate-misspelt 1.2.3): ") for line in lines)


def test_check_of_a_plugin_that_is_not_there_names_those_that_are(
    run: Run, install: Install
) -> None:
    install("notes")

    ran = run("plugin", "check", "nots")

    assert ran.code == 4
    assert ran.err.startswith("error: no plugin nots is installed; install it; installed: ")
    assert "notes" in ran.err


def test_protos_cannot_check_and_accept(run: Run) -> None:
    ran = run("plugin", "protos", ".", "--check", "--accept")

    assert ran.code == 2
    assert "choose one" in ran.err


@pytest.mark.parametrize(
    "name", ["plugin", "config", "core", "enabled", "Notes", "1st", "a-b", "class"]
)
def test_new_refuses_a_bad_name(run: Run, name: str) -> None:
    ran = run("plugin", "new", name)

    assert ran.code == 2
    assert name in ran.err
    assert list(Path().iterdir()) == []
