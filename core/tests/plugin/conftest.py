"""A place to install plugins in, that is no environment: metadata on disk, modules made by hand."""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from types import ModuleType

import click
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from pydantic import BaseModel, ConfigDict, Field
from quorate.plugin import (
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    Extension,
    ExtensionPoint,
    GrpcService,
    Items,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Reader,
    ShardRef,
    Timer,
    Txn,
    hookimpl,
)
from quorate.plugin.advanced import constant_key
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin, discover
from quorate.plugin.problems import PluginErrors, PluginProblem

CORE_VERSION = "0.1.0"

_KINDS = {
    "text": FieldDescriptorProto.TYPE_STRING,
    "texts": FieldDescriptorProto.TYPE_STRING,
    "number": FieldDescriptorProto.TYPE_INT64,
    "self": FieldDescriptorProto.TYPE_MESSAGE,
    "part": FieldDescriptorProto.TYPE_MESSAGE,
}
_LABELS = defaultdict(
    lambda: FieldDescriptorProto.LABEL_OPTIONAL, {"texts": FieldDescriptorProto.LABEL_REPEATED}
)


class Section(BaseModel):
    """A config section."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    loud: bool = Field(default=False, description="Whether to shout.")


class _NoCache:
    def reset(self) -> None: ...
    def put(self, family: str, key: bytes, row: bytes) -> None: ...
    def delete(self, family: str, key: bytes) -> None: ...


def silent(_txn: Txn, _command: Message) -> None:
    """Apply nothing."""


def service(full_name: str) -> GrpcService:
    package, _, name = full_name.rpartition(".")
    file = FileDescriptorProto(name=f"{full_name}.proto", package=package)
    file.service.add(name=name)
    pool = DescriptorPool()
    pool.Add(file)
    return GrpcService(
        service=pool.FindServiceByName(full_name),
        servicer=lambda _: object(),
    )


def cli_command(name: str) -> CliCommand:
    return CliCommand(name=name, help="Greet.", load=lambda: click.Command(name))


async def _idle(_node: NodeApi, _shard: ShardRef) -> None: ...


@asynccontextmanager
async def _lifespan(node: NodeApi) -> AsyncIterator[None]:
    yield None


def _nothing(_reader: Reader, _query: Message) -> list[Message]:
    return []


def _no_items(_command: Message) -> list[bytes]:
    return []


def _same(command: Message, _items: Sequence[bytes]) -> Message:
    return command


class Site:
    """Distributions with entry points in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def distribution(
        self,
        name: str,
        entry_points: Mapping[str, str],
        *,
        version: str = "1.2.3",
        requires: Sequence[str] = (f"quorate>={CORE_VERSION}",),
    ) -> None:
        """Write the metadata of a distribution."""
        metadata = [f"Name: {name}", f"Version: {version}"]
        metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
        folder = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(metadata) + "\n\n")
        points = "".join(f"{each} = {value}\n" for each, value in entry_points.items())
        (folder / "entry_points.txt").write_text(f"[quorate]\n{points}")

    def source(self, module: str, text: str) -> None:
        """Write a module."""
        self.modules.append(module)
        (self.folder / f"{module}.py").write_text(text)

    def module(self, name: str, attributes: Mapping[str, object]) -> None:
        """Put a module that exists in memory alone where an import finds it."""
        self.modules.append(name)
        module = ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module

    def add(
        self,
        name: str,
        declarations: Sequence[object] | Callable[[], object] = (),
        *,
        attributes: Mapping[str, object] | None = None,
        requires: Sequence[str] = (f"quorate>={CORE_VERSION}",),
    ) -> None:
        """Install a plugin that declares these, or what a function returns.

        `attributes` go into its module as they are.
        """
        answer = declarations if callable(declarations) else lambda: declarations
        hooks = {"quorate_declarations": hookimpl(answer)}
        self.module(f"in_memory_{name}", {**hooks, **(attributes or {})})
        self.distribution(f"acme-{name}", {name: f"in_memory_{name}"}, requires=requires)

    def add_whole(self, name: str) -> None:
        """Install a plugin that declares one of everything, rightly."""
        greet = self.message(f"acme.{name}.v1.Greet")
        add_many = self.message(f"acme.{name}.v1.GreetMany", {"names": "texts"})
        ask = self.message(f"acme.{name}.v1.Ask")
        family, people = f"{name}.greetings", f"{name}.people"
        declared = [
            RaftGroup(name=name, shards=3),
            RaftGroup(name="metadata"),
            ColumnFamily(name=family, group=name, row=greet),
            ColumnFamily(name=f"{name}.by_age", group=name),
            ColumnFamily(name=people, group="metadata", row=greet, mirrored=True),
            Command(
                message=greet,
                group=name,
                examples=(greet(),),
                apply=silent,
                reads=(people,),
                shard_key=constant_key,
            ),
            Command(
                message=add_many,
                group=name,
                examples=(add_many(),),
                apply=silent,
                items=Items(get=_no_items, shard_key=constant_key, make=_same),
            ),
            Query(message=ask, group=name, run=_nothing, order=constant_key),
            Cache(name=f"{name}.hot", group=name, families=(family,), factory=_NoCache),
            Controller(
                name=f"{name}.greeting",
                group=name,
                run_once=_idle,
                interval_s=1,
                wake_on=(family,),
            ),
            Timer(name=f"{name}.expiry", group=name, due=lambda _: greet()),
            service(f"acme.{name}.v1.GreetService"),
            Metric(name=f"quorate_{name}_greetings_total", kind="counter", help="Greetings."),
            ConfigSection(model=Section),
            cli_command(name),
            ExtensionPoint(name=f"{name}.words", type=str),
            Extension(point=f"{name}.words", name="hello", value="Hello"),
            Extension(point="absent.points", name=name, value=None),
        ]
        self.add(name, declared, attributes={"quorate_lifespan": hookimpl(_lifespan)})

    def message(
        self,
        full_name: str,
        fields: Mapping[str, str] | None = None,
        *,
        part: Mapping[str, str] | None = None,
    ) -> type[Message]:
        """Make a message class; the kinds of its fields are those of `_KINDS`."""
        package, _, name = full_name.rpartition(".")
        file = FileDescriptorProto(name=f"{full_name}.proto", package=package, syntax="proto3")
        for each, its in ((name, fields or {"text": "text"}), ("Part", part or {})):
            message = file.message_type.add(name=each)
            for number, (field, kind) in enumerate(its.items(), start=1):
                added = message.field.add(
                    name=field, number=number, type=_KINDS[kind], label=_LABELS[kind]
                )
                if added.type == FieldDescriptorProto.TYPE_MESSAGE:
                    added.type_name = f".{package}.{name if kind == 'self' else 'Part'}"
        pool = DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        return GetMessageClass(pool.FindMessageTypeByName(full_name))

    def clear(self) -> None:
        """Uninstall everything."""
        for name in self.modules:
            sys.modules.pop(name, None)
        for folder in self.folder.glob("*.dist-info"):
            shutil.rmtree(folder)

    def entry_points(self) -> list[EntryPoint]:
        found: Iterator[Distribution] = iter(distributions(path=[str(self.folder)]))
        return [point for each in found for point in each.entry_points.select(group="quorate")]

    def plugins(self) -> tuple[Plugin, ...]:
        return discover(self.entry_points(), core_version=CORE_VERSION)

    def catalog(self) -> Catalog:
        return build(self.plugins())

    def problems(self) -> list[str]:
        """Return each problem without its place; a test that expects one fails without any."""
        with pytest.raises(PluginErrors) as caught:
            self.catalog()
        return [
            f"{each.plugin} ({each.distribution} {each.version}): {each.what}; {each.fix}"
            for each in caught.value.exceptions
            if isinstance(each, PluginProblem)
        ]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Site(tmp_path)
    yield made
    made.clear()
