from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.console.browser import Browser, browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("chromedriver is not installed: Debian has it in the package chromium-driver")
    with browser(driver, tmp_path_factory.mktemp("chromium")) as chromium:
        yield chromium
