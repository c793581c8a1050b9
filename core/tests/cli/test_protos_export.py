from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.tests.cli.conftest import Install, Run

#: What compilers bring themselves.
_COMPILERS = "google/protobuf/"
FOREIGN = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from quorate.plugin import *
from quorate.plugin.advanced import *

FILE = descriptor_pb2.FileDescriptorProto(name="unshipped/v1/rows.proto", package="unshipped.v1",
                                          syntax="proto3")
FILE.message_type.add(name="Row")
pool = descriptor_pool.Default()
pool.Add(FILE)
ROW = message_factory.GetMessageClass(pool.FindMessageTypeByName("unshipped.v1.Row"))

@hookimpl
def quorate_declarations():
    return [ColumnFamily(name="NAME.rows", group="metadata", row=ROW)]
"""


def test_the_folder_holds_all_that_its_files_import(run: Run, tmp_path: Path) -> None:
    assert run("protos", "export", str(tmp_path)).code == 0

    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.proto")}
    imported = {
        name
        for path in tmp_path.rglob("*.proto")
        for name in re.findall(r'^import "(.+)";$', path.read_text(), re.MULTILINE)
    }
    assert {each for each in imported if not each.startswith(_COMPILERS)} < files
    assert "google/rpc/status.proto" in files


@pytest.mark.parametrize("service", ["command", "watch", "admin", "kv", "cluster", "tenant"])
def test_every_service_for_clients_is_there_as_it_is(
    run: Run, tmp_path: Path, service: str
) -> None:
    run("protos", "export", str(tmp_path))

    source = Path(__file__).parents[2] / "src" / "quorate" / "v1" / f"{service}.proto"
    assert (tmp_path / "quorate" / "v1" / source.name).read_bytes() == source.read_bytes()


@pytest.mark.parametrize("internal", ["node", "peer", "snapshot", "control"])
def test_what_nodes_tell_each_other_is_not(run: Run, tmp_path: Path, internal: str) -> None:
    run("protos", "export", str(tmp_path))

    assert not (tmp_path / "quorate" / "v1" / f"{internal}.proto").exists()


def test_a_file_that_differs_is_overwritten_only_by_force(run: Run, tmp_path: Path) -> None:
    run("protos", "export", str(tmp_path))
    changed = tmp_path / "quorate" / "v1" / "kv.proto"
    gone = tmp_path / "quorate" / "v1" / "batch.proto"
    changed.write_text("mine")
    gone.unlink()

    ran = run("protos", "export", str(tmp_path))

    assert ran.code == 1
    assert ran.err == f"error: {changed} already exists and differs; give --force to overwrite it\n"
    assert (changed.read_text(), gone.exists()) == ("mine", False)

    ran = run("protos", "export", str(tmp_path), "--force", "--output", "json")

    written = [row["file"] for row in json.loads(ran.out) if row["state"] == "written"]
    assert written == ["quorate/v1/batch.proto", "quorate/v1/kv.proto"]
    assert changed.read_text() != "mine"


def test_a_file_that_a_plugin_does_not_bring_is_named(
    run: Run, install: Install, tmp_path: Path
) -> None:
    install("unshipped", FOREIGN)

    ran = run("protos", "export", str(tmp_path))

    assert (ran.code, list(tmp_path.rglob("*.proto"))) == (4, [])
    assert ran.err.startswith("error: unshipped/v1/rows.proto ")
