from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from quorate.cli.main import main

SOUND = '''
from collections.abc import Iterator
from google.protobuf.wrappers_pb2 import BytesValue, Int64Value, StringValue
from quorate.plugin import *
from pydantic import BaseModel, ConfigDict, Field
from importlib import import_module

class Settings(BaseModel):
    """How notes are kept."""
    model_config = ConfigDict(frozen=True, extra="forbid")
    most: int = Field(3, description="Most notes.")

async def keep(node, shard):
    """Keep."""

@hookimpl
def quorate_config_sections():
    return [ConfigSection(model=Settings)]

@hookimpl
def quorate_raft_groups():
    return [RaftGroup(name="notes")]

@hookimpl
def quorate_column_families():
    return [ColumnFamily(name="NAME.rows", group="notes", row=StringValue)]

@hookimpl
def quorate_commands():
    return [Command(message=StringValue, group="notes", examples=(StringValue(),),
                    shard_key=constant_key)]

@hookimpl
def quorate_data_routes():
    return [DataRoute(message=StringValue, apply=lambda txn, command: None)]

@hookimpl
def quorate_queries():
    return [Query(message=BytesValue, group="notes", run=lambda reader, query: [],
                  shard_key=constant_key)]

@hookimpl
def quorate_controllers():
    return [
        Controller(name="NAME.keeping", group="notes", run_once=keep, interval_s=1),
        Timer(name="NAME.expiry", group="notes", due=lambda keys: StringValue()),
    ]

@hookimpl
def quorate_grpc_services():
    return [GrpcService(full_name="notes.v1.NoteService", add_to_server=print, servicer=print)]

@hookimpl
def quorate_cli_commands():
    return [CliCommand(name="NAME", help="Look at notes.",
                       load=lambda: import_module("NAME_commands").command)]
'''


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
Install = Callable[..., None]


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run where no configuration is found, on a terminal of a known width."""
    for name in [name for name in os.environ if name.startswith("QUORATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)


@pytest.fixture
def compiler() -> None:
    """Demand the protobuf compiler, which only an environment with the extra `dev` has."""
    if find_spec("grpc_tools") is None:
        pytest.skip("grpcio-tools holds protobuf below 6: the tox env `proto` runs this test")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `quorate` with these arguments, in this process."""

    def run(*args: str) -> Ran:
        code = main(args)
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Return a function that installs a plugin with this source, for the time of the test."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def install(
        name: str,
        source: str = SOUND,
        *,
        commands: str = "",
        requires: str = "",
        edit: tuple[str, str] = ("NAME", "NAME"),
    ) -> None:
        metadata = site / f"quorate_{name}-1.2.3.dist-info"
        metadata.mkdir()
        text = f"Metadata-Version: 2.1\nName: quorate-{name}\nVersion: 1.2.3\n"
        (metadata / "METADATA").write_text(text + (requires and f"Requires-Dist: {requires}\n"))
        (metadata / "entry_points.txt").write_text(f"[quorate]\n{name} = {name}_plugin\n")
        (site / f"{name}_plugin.py").write_text(source.replace(*edit).replace("NAME", name))
        if commands:
            (site / f"{name}_commands.py").write_text(commands)

    yield install
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(site)):
            del sys.modules[module]
