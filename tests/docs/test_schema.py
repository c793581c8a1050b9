"""The page on schemas tells of every call and every limit, and its example runs."""

from __future__ import annotations

import ast
import re
from asyncio import run
from pathlib import Path
from types import CodeType
from typing import Any

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.schema import plugin
from quorate.builtin.schema.apply import MOST_VERSIONS
from quorate.builtin.schema.validation import LARGEST_DEFINITION, LONGEST_RESOURCE
from quorate.builtin.tenant import plugin as tenants
from quorate.plugin import Rejected
from quorate.plugin.catalog import build
from quorate.plugin.checking import LARGEST_PAGE, LONGEST_NAME, PAGE
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1 import schema_pb2
from quorate.v1.tenant_pb2 import CreateTenant, Tenant

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "schema.md").read_text("utf-8")


def test_every_call_is_told_with_its_messages() -> None:
    service = schema_pb2.DESCRIPTOR.services_by_name["SchemaService"]
    told = re.findall(r"^\| `(\w+)` \| `(\w+)`", TEXT, re.MULTILINE)

    assert told == [(method.name, method.input_type.name) for method in service.methods]


def test_the_limits_are_those_of_the_code() -> None:
    told = {int(number.replace(",", "")) for number in re.findall(r"\b[\d,]*\d\b", TEXT)}
    limits = {LONGEST_NAME, LONGEST_RESOURCE, LARGEST_DEFINITION // 1024, MOST_VERSIONS}

    assert limits | {PAGE, LARGEST_PAGE} <= told


def test_the_example_runs() -> None:
    [example] = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    code = compile(example, "schema.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    own = Plugin(name="schema", distribution="quorate", version="1", module=plugin)
    other = Plugin(name="tenant", distribution="quorate", version="1", module=tenants)
    node = MemoryNode(catalog=build([own, other]))
    run(node.propose(CreateTenant(name="acme"), Tenant))
    names: dict[str, Any] = {
        **vars(schema_pb2),
        "node": node,
        "Empty": Empty,
        "Rejected": Rejected,
    }

    assert isinstance(code, CodeType)
    run(eval(code, names))

    assert (names["schema"].version, names["refused"]) == (2, "FAILED_PRECONDITION")
