"""The page on pairs: its example runs, its methods and limits are those of the service."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.builtin.kv import apply, plugin
from quorate.builtin.kv.families import LONGEST_KEY
from quorate.builtin.kv.queries import LARGEST_PAGE, PAGE_BYTES
from quorate.builtin.kv.service import KV
from quorate.builtin.kv.validation import LONGEST_TTL_MS, MOST_KEYS, MOST_STEPS
from quorate.plugin import Rejected
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1 import kv_pb2

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kv.md"
TEXT = PAGE.read_text(encoding="utf-8")
SERVICE = kv_pb2.DESCRIPTOR.services_by_name["KvService"]


class Stub:
    """Calls a servicer as a stub calls a server: without a context, and for messages."""

    def __init__(self, servicer: object) -> None:
        self._servicer = servicer

    def __getattr__(self, method: str) -> Any:
        async def call(request: Message) -> Any:
            answer = await getattr(self._servicer, method)(request, None)
            kind = GetMessageClass(SERVICE.methods_by_name[method].output_type)
            return kind.FromString(answer) if isinstance(answer, bytes) else answer

        return call


async def test_the_example_takes_a_job_once() -> None:
    [example] = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    catalog = build([Plugin(name="kv", distribution="quorate", version="0", module=plugin)])
    stub = Stub(MemoryNode(catalog=catalog).servicer(KV.full_name))
    scope: dict[str, Any] = {}
    exec(compile(example, str(PAGE), "exec"), scope)

    assert await scope["take_a_job"](stub) == [
        (b"jobs/1", b"open"),
        (b"jobs/1/worker", b"worker 7"),
    ]
    with pytest.raises(Rejected, match=apply.MISMATCH):
        await scope["take_a_job"](stub)


def test_every_method_is_told() -> None:
    rows = re.findall(r"^\| (`[A-Z]\w+`(?:, `\w+`)?) \| ", TEXT, re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    declared = kv_pb2.DESCRIPTOR.services_by_name["KvService"].methods
    codes = {"REVISION_MISMATCH", "NOT_FOUND", "FAILED_PRECONDITION", "INVALID_ARGUMENT"}

    assert sorted(set(told) - codes) == sorted(method.name for method in declared)


def test_the_limits_are_those_that_are_told() -> None:
    assert f"1 to {LONGEST_KEY:,} bytes" in TEXT
    assert f"at most {MOST_KEYS:,} keys" in TEXT
    assert f"Both together are {MOST_STEPS} at most" in TEXT
    assert f"ends after {LARGEST_PAGE:,} pairs or about {PAGE_BYTES >> 20} MiB" in TEXT
    assert "longer than ten years" in TEXT
    assert LONGEST_TTL_MS // (366 * 24 * 3_600 * 1_000) == 10
