"""The page on resources tells of every call and every limit, and its example runs."""

from __future__ import annotations

import ast
import re
from asyncio import run
from pathlib import Path
from types import CodeType
from typing import Any

from quorate.builtin.resource import plugin
from quorate.builtin.resource.plugin import LARGEST_VALUE, LONGEST_PATH, MOST_PATHS, RESOURCES
from quorate.client import RejectedError
from quorate.plugin import keys
from quorate.plugin.catalog import build
from quorate.plugin.checking import LARGEST_PAGE, PAGE
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryClient, MemoryNode
from quorate.v1 import resource_pb2
from quorate.v1.resource_pb2 import Resource

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "resource.md").read_text("utf-8")


def test_every_call_is_told_with_its_messages() -> None:
    service = resource_pb2.DESCRIPTOR.services_by_name["ResourceService"]
    told = re.findall(r"^\| `(\w+)` \| `(\w+)`", TEXT, re.MULTILINE)

    assert told == [(method.name, method.input_type.name) for method in service.methods]


def test_the_limits_are_those_of_the_code() -> None:
    told = {int(number.replace(",", "")) for number in re.findall(r"\b[\d,]*\d\b", TEXT)}

    assert {LONGEST_PATH, LARGEST_VALUE // 1024, MOST_PATHS, PAGE, LARGEST_PAGE} <= told


def test_the_example_runs() -> None:
    [example] = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    code = compile(example, "resource.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    own = Plugin(name="resource", distribution="quorate", version="1", module=plugin)
    node = MemoryNode(catalog=build([own]))
    client: Any = MemoryClient(node)
    names: dict[str, Any] = {
        "q": client,
        "PutResource": resource_pb2.PutResource,
        "RejectedError": RejectedError,
        "RESOURCES": RESOURCES,
    }

    assert isinstance(code, CodeType)
    run(eval(code, names))

    row = Resource.FromString(node.rows(RESOURCES.family)[keys.pack("settings/mqtt")])
    assert (row.value, names["refused"]) == (b'{"rate": 200}', "REVISION_MISMATCH")
