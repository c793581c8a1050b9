"""The search of the documentation leads those who type their own words to the right pages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.pages import DOCS

#: What a newcomer types, and the page that is found first.
FIRST: Final = {
    "lock": "how-to/hold-a-lock",
    "etcd": "how-to/move-from-etcd",
    "offsets": "how-to/commit-offsets",
    "kill": "reference/cli",
    "backup": "how-to/back-up-and-restore",
    "Go": "how-to/write-from-go-and-java",
    "java": "how-to/write-from-go-and-java",
    "what happens when a disk dies": "explanation/questions#what-happens-when-a-disk-dies",
    "why not etcd": "explanation/questions#why-not-etcd",
    "kafka": "how-to/run-kafka",
    "zookeeper": "how-to/move-from-zookeeper",
    "upgrade": "how-to/upgrade",
    "mqtt": "how-to/run-an-mqtt-broker",
    "quota": "reference/quotas",
    "console": "how-to/use-the-console",
    "restore": "how-to/back-up-and-restore",
}

pytestmark = [
    pytest.mark.ci,
    pytest.mark.timeout(1_200),
    pytest.mark.skipif(shutil.which("node") is None, reason="node runs the search"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[str]]:
    """The pages that are found for each query, by the scripts of the built documentation."""
    pytest.importorskip("sphinx")
    built = tmp_path_factory.mktemp("html")
    program = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(built)]
    subprocess.run(program, check=True, capture_output=True)
    search = Path(__file__).with_name("search.js")
    asked = subprocess.run(
        ["node", str(search), str(built), *FIRST], check=True, capture_output=True, text=True
    )
    return dict(zip(FIRST, json.loads(asked.stdout), strict=True))


@pytest.mark.parametrize("query", FIRST)
def test_the_right_page_is_found_first(found: Mapping[str, Sequence[str]], query: str) -> None:
    assert found[query][0].partition("#")[0] == FIRST[query].partition("#")[0]
    assert FIRST[query] in found[query][:2]
