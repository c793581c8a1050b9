from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.browser import Browser, browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("chromedriver is not installed: Debian has it in the package chromium-driver")
    with browser(driver, tmp_path_factory.mktemp("chromium")) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def axe() -> Path:
    axe = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
    if not axe.is_file():
        pytest.skip("axe-core is not there: npm install axe-core, or name axe.min.js in AXE_CORE")
    return axe
