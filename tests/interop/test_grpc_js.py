"""The server answers `@grpc/grpc-js`, the client of Node.js."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.interop.conftest import Served
from tests.interop.programs import needs_npm, ran

pytestmark = [pytest.mark.full, needs_npm]
_ASKING = Path(__file__).with_name("asking.mjs")
_CASES = [
    "empty",
    "large",
    "many",
    "metadata",
    "status",
    "unknown",
    "answers",
    "requests",
    "both",
    "deadline",
    "cancel",
]


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that has the client; it is fetched once."""
    directory = tmp_path_factory.mktemp("grpc-js")
    command = ("npm", "install", "--no-audit", "--no-fund", "--prefix", ".", "@grpc/grpc-js@1")
    code, printed = asyncio.run(ran(*command, cwd=directory))
    if code:
        pytest.skip(f"npm cannot fetch the client: {printed[-300:]}")
    return directory


async def test_every_case_of_grpc_js_passes(modules: Path, served: Served) -> None:
    """With TLS and without."""
    options = [f"127.0.0.1:{served.port}"]
    if served.authority is not None:
        options.append(str(served.authority))
    code, printed = await ran("node", str(_ASKING), *options, within_s=120, cwd=modules)
    assert code == 0, printed
    assert re.findall(r"^passed (\w+)$", printed, re.MULTILINE) == _CASES
    assert served.server.faults.total() == 0
