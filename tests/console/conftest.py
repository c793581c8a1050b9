from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.browser import Browser, browser


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("chromedriver is not installed: Debian has it in the package chromium-driver")
    with browser(driver, tmp_path_factory.mktemp("chromium")) as window:
        yield window


@pytest.fixture
def chromium(window: Browser) -> Browser:
    # The page of an earlier test asks for itself again, and its node may be gone.
    window.open("about:blank")
    window.logged()
    return window


@pytest.fixture(scope="session")
def axe() -> Path:
    axe = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
    if not axe.is_file():
        pytest.skip("axe-core is not there: npm install axe-core, or name axe.min.js in AXE_CORE")
    return axe
