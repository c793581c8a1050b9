"""The page on gRPC: its client runs on generated code alone, and it names all that there is."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
import shutil
import site
import sys
from pathlib import Path

import quorate.v1
from google.protobuf.descriptor import ServiceDescriptor
from quorate.apply.outcomes import (
    NOT_OWNER,
    OTHER_COMMAND,
    OUT_OF_RANGE,
    SESSION_EXPIRED,
    SESSION_SEALED,
)
from quorate.apply.sessions import MAX_ANSWER_BYTES, WINDOW
from quorate.builtin.kv import plugin as kv
from quorate.cli.exporting import sources_of
from quorate.config.sections import LimitsSection
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin, installed
from quorate.plugin.slots import SLOTS
from quorate.rpc import status
from quorate.shards.shard.settings import ShardSettings
from quorate.shards.watching import views

from tests.support.one_node import run_node, settings_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "grpc.md"
TEXT = PAGE.read_text(encoding="utf-8")
#: It does not matter where lines end.
PROSE = " ".join(TEXT.split())


async def test_the_example_needs_generated_code_alone(tmp_path: Path) -> None:
    [example] = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    catalog = build([Plugin(name="kv", distribution="quorate", version="0", module=kv)])
    (tmp_path / "client.py").write_text(example)
    generated = tmp_path / "generated"
    for name in sources_of(catalog.declared.values()):
        source = Path(quorate.v1.__path__[0]).parents[1] / name
        for each in source.parent.glob(f"{source.stem}_pb2*.py"):
            (generated / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(each, (generated / name).parent)
    settings = settings_of(tmp_path, catalog)
    async with run_node(settings, catalog):
        # Without `site` nothing is there of what is installed for editing: quorate is what lies in
        # the folder.
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            "-S",
            str(tmp_path / "client.py"),
            settings.node.address,
            env={"PYTHONPATH": ":".join([str(generated), *site.getsitepackages()])},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await client.communicate()

    printed = out.decode().splitlines()
    assert (client.returncode, len(printed)) == (0, 3), err.decode()
    assert f"It prints `{printed[0]}`, then `{printed[1]}`" in PROSE
    assert f"and `{printed[2]}`" in PROSE


def services() -> dict[str, ServiceDescriptor]:
    """Return the services of quorate.v1."""
    found: dict[str, ServiceDescriptor] = {}
    for module in pkgutil.iter_modules(quorate.v1.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"quorate.v1.{module.name}").DESCRIPTOR
            found |= {each.full_name: each for each in file.services_by_name.values()}
    return found


def test_every_service_and_method_of_core_is_told() -> None:
    declared = build([plugin for plugin in installed() if plugin.built_in]).declared
    built_in = {each.full_name for domain in declared.values() for each in domain.services}
    wanted = {
        name: [method.name for method in service.methods]
        for name, service in services().items()
        if name not in built_in
    }
    told: dict[str, list[str]] = {}
    for mark, name in re.findall(r"^(##|###) `([\w.]+)`$", TEXT, re.MULTILINE):
        if mark == "##":
            told[name] = []
        else:
            told[list(told)[-1]].append(name)

    assert told == wanted
    # Those of the domains have pages of their own.
    assert all(f"]({name}.md)" in PROSE for name in declared)


def test_every_method_has_its_paragraph() -> None:
    assert re.findall(r"^### .+\n\n(?![A-Z].+\.$|[A-Z].+\n)", TEXT, re.MULTILINE) == []


def test_every_reason_is_told_with_its_status_and_what_to_do() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)` )?\| \S.+ \|$", TEXT, re.MULTILINE)
    table = {(row.code, row.reason, row.retry) for row in status._TABLE.values()}

    assert sorted(told) == sorted(table)


def test_refusals_of_sessions_are_told() -> None:
    told = re.findall(r"^\| `(\w+)` \| [A-Z][^|]+ \|$", TEXT, re.MULTILINE)

    assert told == [SESSION_EXPIRED, OUT_OF_RANGE, OTHER_COMMAND, SESSION_SEALED, NOT_OWNER]
    assert f"more than {WINDOW:,} above" in PROSE
    assert f"larger than {MAX_ANSWER_BYTES >> 10} KiB" in PROSE


def test_what_is_said_of_views_is_so() -> None:
    assert f"reason `{views.GONE}`" in PROSE
    assert f"A node holds {views.MOST_VIEWS} views at a time" in PROSE
    assert (views.TTL_S, views.LONGEST_TTL_S) == (300.0, 3_600.0)
    assert "five minutes unless" in PROSE


def test_the_limits_are_those_that_are_told() -> None:
    limits = LimitsSection()
    told = {
        name: found
        for found, names in re.findall(r"^\| [^|]+ \| ([^|`]+) \| (`limits.+`) \|$", TEXT, re.M)
        for name in re.findall(r"limits\.(\w+)", names)
    }

    derived = {
        "connections": limits.most_connections(1 << 20),
        "inflight_bytes": limits.most_inflight_bytes(),
    }

    assert set(told) == set(LimitsSection.model_fields)
    for name, found in told.items():
        value = derived.get(name, getattr(limits, name))
        shown = f"{value:,}"
        if name.endswith("bytes"):
            shown = f"{value >> 20} MiB" if value >> 20 else f"{value >> 10} KiB"
        assert shown in found, name
    assert f"a read after {ShardSettings().read_timeout_s:.0f} seconds" in PROSE
    assert f"modulo {SLOTS:,}" in PROSE
