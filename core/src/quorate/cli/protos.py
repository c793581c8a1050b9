"""Generates protobuf code beside its sources, and holds it to the vocabulary of the last release.

Only one generator is taken, so that the same sources give the same bytes everywhere.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from quorate.cli.failures import ExitCode, Failure, Problem, failure, problem
from quorate.plugin.discovery import Plugin
from quorate.plugin.markers import PROJECT
from quorate.plugin.rows import Misdeclared, Plugin as RowPlugin
from quorate.plugin.rows.clients import clients_of
from quorate.plugin.rows.files import file_of
from quorate.plugin.wire import breaking_changes, golden_of

#: Its code loads without a warning under every protobuf from 5.26 on; that of later ones does not.
GENERATOR: Final = "grpcio-tools"
GENERATOR_VERSION: Final = "1.65.5"

#: The answers for a plugin without a stale file.
UP_TO_DATE = "up to date"
NOT_CHECKED = f"not checked: {GENERATOR} is not installed"
NO_SOURCES = "no sources here"

#: Earlier versions made the last one; services are bound by their descriptors.
_GENERATED: Final = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "/rows_client.py")
#: What sources with row classes import.
_CLASSES: Final = "quorate.plugin.rows"
#: The file that is written from them, without its ending.
_ROWS: Final = "v1/rows"


@dataclass(frozen=True, slots=True)
class Source:
    """A distribution that has `.proto` files, or row classes that one is written from."""

    folder: Path
    #: Paths of the `.proto` files below `root`, as they import each other.
    protos: tuple[str, ...]
    golden: Path
    #: What is written from the classes, by path below the root.
    written: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """Where imports begin."""
        return self.folder / "src"


@dataclass(frozen=True, slots=True)
class Generated:
    """The output of the compiler for the sources."""

    #: By path below the root.
    files: Mapping[str, bytes]
    descriptors: bytes


def demand_generator() -> None:
    """Fail unless the pinned generator is installed: its code runs on every supported runtime."""
    try:
        found = version(GENERATOR)
    except PackageNotFoundError:
        raise failure(
            f"{GENERATOR} is not installed",
            f"install {GENERATOR}=={GENERATOR_VERSION}, or {PROJECT}[dev], which brings it",
        ) from None
    if found != GENERATOR_VERSION:
        raise failure(
            f"{GENERATOR} {found} generates code that warns or fails under older protobuf runtimes",
            f"install {GENERATOR}=={GENERATOR_VERSION}, in an environment of its own",
        )


def source_of(folder: Path) -> Source:
    """Return the sources of the distribution in a folder."""
    root = folder / "src"
    written = written_from_classes(folder)
    found = [path.relative_to(root).as_posix() for path in root.rglob("*.proto")]
    protos = tuple(sorted({*found, *(each for each in written if each.endswith(".proto"))}))
    if not protos:
        raise failure(
            f"{root} contains no .proto file",
            "name the folder of a distribution, the one with pyproject.toml and src",
        )
    name, points = _named(folder)
    if len(points) == 1 and name != PROJECT:
        # The plugin's; the distribution's where it has no plugin, or several.
        [name] = points
    golden = folder / "tests" / "golden" / f"{name}.binpb"
    return Source(folder, protos, golden, written)


def generate(source: Source) -> Generated:
    """Run the compiler in a temporary folder and return its output."""
    demand_generator()
    with tempfile.TemporaryDirectory() as temporary:
        out, written = Path(temporary, "out"), Path(temporary, "written")
        out.mkdir()
        for name, text in source.written.items():
            path = (written if name.endswith(".proto") else out) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        descriptors = Path(temporary, "descriptors.binpb")
        _run_protoc(
            source.root,
            [f"--python_out={out}", f"--pyi_out={out}", f"--descriptor_set_out={descriptors}"],
            source.protos,
            *([written] if written.is_dir() else []),
        )
        declared = FileDescriptorSet.FromString(descriptors.read_bytes())
        files = {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }
    files |= {name: text.encode() for name, text in source.written.items()}
    return Generated(files, golden_of(declared.file))


def write(source: Source, generated: Generated) -> list[Path]:
    """Bring the generated code beside the sources up to date; return the paths that changed."""
    changed, stale = _outdated_files(source, generated), _stale(source, generated)
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(generated.files[path.relative_to(source.root).as_posix()])
    for path in stale:
        path.unlink()
    return [*changed, *stale]


def accept(source: Source, generated: Generated) -> list[Path]:
    """Make the current descriptors the golden ones; return the path if that changes anything."""
    if source.golden.is_file() and source.golden.read_bytes() == generated.descriptors:
        return []
    source.golden.parent.mkdir(parents=True, exist_ok=True)
    source.golden.write_bytes(generated.descriptors)
    return [source.golden]


def differences(source: Source, generated: Generated) -> list[Problem]:
    """Return the stale files of the committed code, and the breaks of the golden descriptors."""
    again = f"run `quorate plugin protos {source.folder}`"
    faults = [
        f"{path} is missing" if not path.is_file() else _outdated(path)
        for path in _outdated_files(source, generated)
    ]
    faults += [f"{path} has no source that generates it" for path in _stale(source, generated)]
    problems = [problem(what, again) for what in faults]
    if not source.golden.is_file():
        what = f"{source.golden} is missing, so breaking changes cannot be detected"
        return [*problems, problem(what, f"{again[:-1]} --accept`")]
    undo = "undo it, or reserve what was removed; before a release that may break, use --accept"
    changes = breaking_changes(source.golden.read_bytes(), generated.descriptors)
    return [*problems, *(problem(f"{each}, against {source.golden}", undo) for each in changes)]


def written_from_classes(folder: Path) -> dict[str, str]:
    """Return what is written from the row classes of a distribution, by path below its root.

    Its plugins are imported only if some source of it has such classes.
    """
    root = folder / "src"
    if not _has_classes(root):
        return {}
    written: dict[str, str] = {}
    for module in _named(folder)[1].values():
        package = module.partition(".")[0]
        proto = f"{package}/{_ROWS}.proto"
        for app in _apps_of(root, module):
            if proto in written:
                fix = "give each plugin with row classes a package of its own"
                raise failure(f"{package} holds two plugins that both need {proto}", fix)
            before = _file_before(root, proto) if (root / proto).is_file() else None
            try:
                written[proto] = file_of(app, f"{package}.v1", before)
                written[f"{package}/{_ROWS}_client.py"] = clients_of(app, package)
            except Misdeclared as wrong:
                raise failure(wrong.what, wrong.fix) from None
            begin = f"{package}/v1/__init__.py"
            if not (root / begin).is_file():
                written[begin] = '"""The messages of the plugin, generated from its classes."""\n'
    return written


def _has_classes(root: Path) -> bool:
    return any(
        _CLASSES in path.read_text(encoding="utf-8", errors="replace")
        for path in root.rglob("*.py")
        if not path.name.endswith(_GENERATED)
    )


def _apps_of(root: Path, module: str) -> list[RowPlugin]:
    """Import the module of a plugin, and return its objects that hold declarations."""
    before = list(sys.path)
    sys.path.insert(0, str(root.resolve()))
    try:
        found = import_module(module)
    except Misdeclared as wrong:
        raise failure(wrong.what, wrong.fix) from wrong
    except Exception as error:
        raise failure(
            f"importing {module} raised {type(error).__name__}: {error}", "repair the import"
        ) from error
    finally:
        sys.path[:] = before
    apps = [each for each in vars(found).values() if isinstance(each, RowPlugin)]
    return [each for each in apps if each.module == module and each.resources]


def _file_before(root: Path, proto: str) -> FileDescriptorProto:
    with tempfile.TemporaryDirectory() as temporary:
        descriptors = Path(temporary, "descriptors.binpb")
        _run_protoc(root, [f"--descriptor_set_out={descriptors}"], [proto])
        return FileDescriptorSet.FromString(descriptors.read_bytes()).file[0]


def _outdated(path: Path) -> str:
    return f"{path} differs from the code that its source generates"


def _outdated_files(source: Source, generated: Generated) -> list[Path]:
    """Return the files of generated code that are not there, or not as they ought to be."""
    wanted = {source.root / name: content for name, content in generated.files.items()}
    return [
        path
        for path, content in wanted.items()
        if not path.is_file() or path.read_bytes() != content
    ]


def _stale(source: Source, generated: Generated) -> list[Path]:
    return sorted(
        path
        for ending in _GENERATED
        for path in source.root.rglob(f"*{ending}")
        if path.relative_to(source.root).as_posix() not in generated.files
    )


def _run_protoc(root: Path, outputs: Iterable[str], protos: Iterable[str], *before: Path) -> None:
    """Run the compiler; files in `before` are taken in the place of those below the root."""
    command = [sys.executable, "-m", "grpc_tools.protoc"]
    command += [f"-I{path}" for path in (*before, *_include_paths(root))]
    done = subprocess.run(
        [*command, *outputs, *protos], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        complaints = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(
            ExitCode.FAILED,
            [problem(line, f"fix the file under {root}") for line in complaints]
            or [problem("the compiler failed without a message", "check the sources")],
        )


def _include_paths(root: Path) -> list[Path]:
    """Return the import paths: this root, quorate, plugins, and the files of protobuf and Google.

    Nothing is imported for it: a plugin whose code is not generated yet cannot be.
    """
    packages = [PROJECT, *(point.module.partition(".")[0] for point in entry_points(group=PROJECT))]
    found = [root.resolve()]
    for package in dict.fromkeys(packages):
        found += [path.parent for path in _locations(package)]
    found += [path.parent.parent for path in _locations("google.rpc")]
    found += [path / "_proto" for path in _locations("grpc_tools")]
    return list(dict.fromkeys(path.resolve() for path in found))


def _locations(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(path) for path in (spec.submodule_search_locations or [])] if spec else []


def _named(folder: Path) -> tuple[str, dict[str, str]]:
    file = folder / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        name: str = project["name"]
        points: dict[str, str] = project.get("entry-points", {}).get(PROJECT, {})
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise failure(
            f"{file} does not name the project: {type(error).__name__}: {error}",
            "name the folder of a distribution, the one with pyproject.toml and src",
        ) from error
    return name, points


def _folder_of(plugin: Plugin) -> Path | None:
    """Return the folder of a distribution that is installed from its sources; None of any other."""
    if plugin.module is None or plugin.built_in:
        return None
    file = getattr(sys.modules.get(plugin.module.__name__), "__file__", None)
    if file is None:
        return None
    root = Path(file).resolve().parents[plugin.module.__name__.count(".")]
    has_protos = root.name == "src" and (any(root.rglob("*.proto")) or _has_classes(root))
    return root.parent if has_protos and (root.parent / "pyproject.toml").is_file() else None


def check_plugin(plugin: Plugin) -> tuple[str, list[tuple[str, str]]]:
    """Return the state of a plugin's generated code, and each stale file with its fix.

    Only the compiler can tell: if it is not installed, no file is reported as stale.
    """
    folder = _folder_of(plugin)
    if folder is None:
        return NO_SOURCES, []
    if find_spec("grpc_tools") is None:
        return NOT_CHECKED, []
    again = f"run `quorate plugin protos {folder}`"
    try:
        source = source_of(folder)
        generated = generate(source)
    except Failure as failed:
        told = [(str(each.parts["what"]), str(each.parts["fix"])) for each in failed.problems]
        return "broken", [(what, fix or again) for what, fix in told]
    stale = [(_outdated(path), again) for path in _outdated_files(source, generated)]
    return ("stale" if stale else UP_TO_DATE), stale
