"""Chromium without a window, driven over WebDriver by what the standard library has."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from quorate.testing.ports import free_ports
from quorate.testing.waiting import until

#: What axe-core finds on a page, by its rules and the first places.
_VIOLATIONS: Final = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(
  found.violations.map((each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html)])));
"""
#: The key by which WebDriver names an element.
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
PHONE: Final = (390, 844)
DESKTOP: Final = (1280, 900)


class Browser:
    """One window; what its console logs is kept."""

    def __init__(self, session: str) -> None:
        self._session: Final = session

    def ask(self, method: str, path: str, **said: object) -> Any:
        """Ask the driver; raises `urllib.error.HTTPError` for what cannot be done."""
        body = json.dumps(said).encode() if method == "POST" else None
        request = Request(f"{self._session}{path}", body, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self.ask("POST", "/url", url=url)

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script returns on the page."""
        return self.ask("POST", "/execute/sync", script=script, args=arguments)

    def awaited(self, script: str, *arguments: object) -> Any:
        """Return what a script gives to the function that is its last argument."""
        return self.ask("POST", "/execute/async", script=script, args=arguments)

    def element(self, xpath: str) -> str:
        found = self.ask("POST", "/element", using="xpath", value=xpath)
        return str(found[_ELEMENT])

    def click(self, xpath: str) -> None:
        self._act("POST", xpath, "click")

    def follow(self, text: str) -> None:
        """Click on the first link with this text."""
        self.click(f'//a[normalize-space()="{text}"]')

    def write(self, name: str, text: str) -> None:
        """Write into the field of a form."""
        self._act("POST", f"//input[@name='{name}']", "value", text=text)

    def keys(self, text: str) -> None:
        """Press keys, wherever the focus is."""
        presses = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": presses}])

    @contextmanager
    def without_scripts(self) -> Iterator[None]:
        """Run no scripts of pages that are opened within the block."""
        self._devtools("Emulation.setScriptExecutionDisabled", value=True)
        try:
            yield
        finally:
            self._devtools("Emulation.setScriptExecutionDisabled", value=False)

    def said(self, xpath: str) -> str:
        """Return the text of an element."""
        return str(self._act("GET", xpath, "text"))

    def _act(self, method: str, xpath: str, action: str, **said: object) -> Any:
        """Do something with an element, once it is on the page that is being opened, and stays."""

        def done() -> tuple[Any] | None:
            try:
                return (self.ask(method, f"/element/{self.element(xpath)}/{action}", **said),)
            except HTTPError:
                return None

        [found] = until(done)
        return found

    @property
    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def shows(self, text: str) -> None:
        """Wait until the page has a text."""

        def shown() -> bool | None:
            try:
                return text in self.text or None
            except HTTPError:
                # Another page is about to take its place.
                return None

        until(shown)

    def size(self, width: int, height: int) -> None:
        """Show pages as on a screen of this size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", **metrics)

    def scheme(self, name: str) -> None:
        """Show pages `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self._devtools("Emulation.setEmulatedMedia", features=features)

    def token(self, token: str) -> None:
        """Give a token as the password of every page."""
        given = base64.b64encode(f":{token}".encode()).decode()
        self._devtools("Network.enable")
        self._devtools("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {given}"})

    def usable(self, url: str, axe: Path) -> None:
        """Hold a page against axe-core, which stands for WCAG's level AA: it finds nothing.

        At any width, in any colours, and nothing is wider than the screen.
        """
        for width in (1_440, 768, 390):
            for scheme in ("light", "dark"):
                self.size(width, 900)
                self.scheme(scheme)
                self.open(url)
                self.run(axe.read_text())
                assert self.awaited(_VIOLATIONS) == [], (width, scheme)
                assert self.run("return document.documentElement.scrollWidth") <= width
        self.logged()

    def logged(self) -> list[Mapping[str, Any]]:
        """Return what the console has logged since it was asked last."""
        found: list[Mapping[str, Any]] = self.ask("POST", "/se/log", type="browser")
        return found

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))

    def _devtools(self, command: str, **parameters: object) -> None:
        self.ask("POST", "/goog/cdp/execute", cmd=command, params=parameters)


@contextmanager
def browser(driver: str, directory: Path) -> Iterator[Browser]:
    """Start a browser whose profile is in a directory."""
    [port] = free_ports(0)
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    options = {"args": [*arguments, f"--user-data-dir={directory / 'profile'}"]}
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    capabilities = {"alwaysMatch": {"browserName": "chrome", **wanted}}
    with (directory / "driver.log").open("wb") as log:
        process = subprocess.Popen([driver, f"--port={port}"], stdout=log, stderr=log)
    root = Browser(f"http://127.0.0.1:{port}")
    try:
        until(lambda: _ready(root))
        made = root.ask("POST", "/session", capabilities=capabilities)
        browser = Browser(f"http://127.0.0.1:{port}/session/{made['sessionId']}")
        browser.size(*DESKTOP)
        try:
            yield browser
        finally:
            browser.ask("DELETE", "")
    finally:
        process.terminate()
        process.wait(30)


def _ready(root: Browser) -> bool | None:
    try:
        return root.ask("GET", "/status")["ready"] or None
    except OSError:
        return None
