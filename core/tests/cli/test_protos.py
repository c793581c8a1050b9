from __future__ import annotations

import importlib
import pkgutil
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import quorate.v1
from quorate.cli import protos
from quorate.cli.failures import Failure
from quorate.cli.protos import Generated, Source
from quorate.plugin.wire import breaking_changes, golden_of
from quorate.v1 import batch_pb2

if TYPE_CHECKING:
    from core.tests.cli.conftest import Run

CORE = Path(__file__).parents[2]
BATCH = "quorate/v1/batch.proto"

NOTE = """syntax = "proto3";
package notes.v1;
import "google/protobuf/timestamp.proto";
import "google/rpc/status.proto";
import "quorate/v1/batch.proto";
message Note {
  string name = 1;
  google.protobuf.Timestamp at = 2;
  google.rpc.Status status = 3;
  quorate.v1.ItemRefusal refusal = 4;
}
"""
SERVICE = """syntax = "proto3";
package notes.v1;
import "notes/v1/note.proto";
service NoteService { rpc Get(Note) returns (Note); }
"""


@pytest.fixture
def distribution() -> Path:
    """A distribution with two sources, in the working directory."""
    folder = Path("notes")
    package = folder / "src" / "notes" / "v1"
    package.mkdir(parents=True)
    (package / "note.proto").write_text(NOTE)
    (package / "service.proto").write_text(SERVICE)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "acme-notes"\n[project.entry-points.quorate]\nnotes = "notes.plugin"\n'
    )
    return folder


@pytest.fixture
def core(tmp_path: Path) -> Path:
    """A copy of core as it is committed: nothing is to be generated, whatever is installed."""
    copy = tmp_path / "core"
    shutil.copytree(CORE / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CORE / "tests" / "golden", copy / "tests" / "golden")
    shutil.copy(CORE / "pyproject.toml", copy)
    return copy


def committed(source: Source) -> Generated:
    """What the compiler would give if all committed code is right."""
    endings = ("_pb2.py", "_pb2.pyi")
    files = {
        path.relative_to(source.root).as_posix(): path.read_bytes()
        for path in source.root.rglob("*")
        if path.name.endswith(endings)
    }
    return Generated(files, source.golden.read_bytes())


def sentences(source: Source, generated: Generated) -> list[str]:
    return [problem.sentence for problem in protos.differences(source, generated)]


def test_the_golden_set_is_named_after_the_plugin(distribution: Path) -> None:
    source = protos.source_of(distribution)

    assert source.golden == distribution / "tests" / "golden" / "notes.binpb"
    assert source.protos == ("notes/v1/note.proto", "notes/v1/service.proto")


def test_the_golden_set_of_core_is_named_after_the_distribution() -> None:
    assert protos.source_of(CORE).golden == CORE / "tests" / "golden" / "quorate.binpb"


def test_a_folder_without_sources_is_refused(run: Run) -> None:
    ran = run("plugin", "protos", "nowhere")

    assert ran.code == 1
    assert ran.err.startswith("error: nowhere/src contains no .proto file; ")


def test_a_folder_without_a_project_is_refused(run: Run, distribution: Path) -> None:
    (distribution / "pyproject.toml").unlink()

    ran = run("plugin", "protos", "notes")

    assert ran.code == 1
    assert ran.err.startswith("error: notes/pyproject.toml does not name the project")


def test_without_the_compiler_there_is_one_sentence(
    run: Run, distribution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(protos, "version", version)

    ran = run("plugin", "protos", "notes")

    assert ran.code == 1
    assert ran.err == (
        "error: grpcio-tools is not installed; install grpcio-tools==1.65.5, or quorate[dev], "
        "which brings it\n"
    )


def test_another_compiler_is_refused_with_the_reason(
    run: Run, distribution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protos, "version", lambda name: "1.67.1")

    ran = run("plugin", "protos", "notes")

    assert ran.code == 1
    assert "grpcio-tools 1.67.1 generates code that warns or fails" in ran.err
    assert "grpcio-tools==1.65.5" in ran.err


def test_what_is_committed_differs_in_nothing(core: Path) -> None:
    source = protos.source_of(core)

    assert sentences(source, committed(source)) == []
    assert protos.write(source, committed(source)) == []
    assert protos.accept(source, committed(source)) == []


def test_every_difference_names_its_file(core: Path) -> None:
    source = protos.source_of(core)
    right = committed(source)
    module = source.root / "quorate/v1/batch_pb2.py"
    stub = source.root / "quorate/v1/batch_pb2.pyi"
    stray = source.root / "quorate/v1/gone_pb2.py"
    module.write_bytes(module.read_bytes() + b"# edited\n")
    stub.unlink()
    stray.write_bytes(b"")

    told = sentences(source, right)

    assert {sentence.split(";")[0] for sentence in told} == {
        f"{module} differs from the code that its source generates",
        f"{stub} is missing",
        f"{stray} has no source that generates it",
    }
    assert set(protos.write(source, right)) == {module, stub, stray}
    assert sentences(source, right) == []
    assert not stray.exists()


def test_a_missing_golden_set_is_a_difference(core: Path) -> None:
    source = protos.source_of(core)
    right = committed(source)
    source.golden.unlink()

    [told] = sentences(source, right)

    assert told.startswith(f"{source.golden} is missing")
    assert protos.accept(source, right) == [source.golden]
    assert source.golden.read_bytes() == right.descriptors


def test_a_breaking_change_is_a_difference(core: Path) -> None:
    source = protos.source_of(core)
    changed = Generated(committed(source).files, golden_of([]))

    told = sentences(source, changed)

    assert any(
        each.startswith("message quorate.v1.BatchReply was removed, against ") for each in told
    )


def test_the_loaded_messages_of_core_break_nothing_of_the_golden_set() -> None:
    modules = [module.name for module in pkgutil.iter_modules(quorate.v1.__path__)]
    loaded = [
        importlib.import_module(f"quorate.v1.{module}").DESCRIPTOR
        for module in modules
        if module.endswith("_pb2")
    ]
    golden = (CORE / "tests" / "golden" / "quorate.binpb").read_bytes()

    assert loaded
    assert breaking_changes(golden, golden_of(loaded)) == []


@pytest.mark.usefixtures("compiler")
def test_core_generates_the_bytes_that_are_committed(run: Run, core: Path) -> None:
    ran = run("plugin", "protos", str(core), "--check")

    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.usefixtures("compiler")
def test_code_is_generated_beside_its_sources(run: Run, distribution: Path) -> None:
    ran = run("plugin", "protos", "notes", "--accept")

    assert ran.code == 0
    package = distribution / "src" / "notes" / "v1"
    assert sorted(path.name for path in package.iterdir()) == [
        "note.proto",
        "note_pb2.py",
        "note_pb2.pyi",
        "service.proto",
        "service_pb2.py",
        "service_pb2.pyi",
    ]
    assert run("plugin", "protos", "notes", "--check").code == 0


@pytest.mark.usefixtures("compiler")
def test_check_writes_nothing(run: Run, distribution: Path) -> None:
    before = sorted(distribution.rglob("*"))

    ran = run("plugin", "protos", "notes", "--check")

    assert ran.code == 1
    assert ran.err.count("is missing") == 5
    assert sorted(distribution.rglob("*")) == before


@pytest.mark.usefixtures("compiler")
def test_check_fails_on_a_change_that_breaks_the_golden_set(run: Run, distribution: Path) -> None:
    run("plugin", "protos", "notes", "--accept")
    source = distribution / "src" / "notes" / "v1" / "note.proto"
    source.write_text(NOTE.replace("string name = 1;", "bytes name = 1;"))
    run("plugin", "protos", "notes")

    ran = run("plugin", "protos", "notes", "--check")

    assert ran.code == 1
    assert ran.err.startswith(
        "error: field notes.v1.Note number 1 was string name and became bytes name, against "
    )
    run("plugin", "protos", "notes", "--accept")
    assert run("plugin", "protos", "notes", "--check").code == 0


@pytest.mark.usefixtures("compiler")
def test_the_compilers_complaint_names_file_and_line(distribution: Path) -> None:
    source = distribution / "src" / "notes" / "v1" / "note.proto"
    source.write_text(NOTE.replace("string name = 1;", "text name = 1;"))

    with pytest.raises(Failure) as failed:
        protos.generate(protos.source_of(distribution))

    assert 'notes/v1/note.proto:7:3: "text" is not defined' in str(failed.value)


@pytest.mark.usefixtures("compiler")
def test_descriptors_of_the_compiler_are_those_of_the_generated_code() -> None:
    source = protos.source_of(CORE)

    generated = protos.generate(Source(source.folder, (BATCH,), source.golden))

    assert generated.descriptors == golden_of([batch_pb2.DESCRIPTOR])
