"""The example of the page on what every resource can do runs; its table is checked elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.testing.cluster import Cluster

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "resources.md"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, nodes=1) as cluster:
        yield cluster.ready()


async def test_an_update_keeps_what_it_does_not_give(cluster: Cluster) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), scope)

    assert await scope["main"](cluster.endpoints) == ("", {"mqtt.topics": 20})
