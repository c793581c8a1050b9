"""The tour of the docs: what its page shows is there, at every width and in both colours."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.console.browser import Browser

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tutorial" / "tour.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"\((\.\./images/tour-[\w-]+\.png)\)", PAGE)
PLUGINS = ("connector", "coordination", "mqtt", "offset")
#: What the page shows: where it is, a text of it, and how the picture is taken.
VIEWS = {
    "overview": ("?range=5m", "nodes are ready", 1_440, "light"),
    "map": ("/map", "metadata/0", 768, "dark"),
    "search": ("/search?q=demo-", "demo-globex", 390, "light"),
    "sessions": ("/mqtt/sessions?tenant=demo-acme", "sensor-000", 1_440, "dark"),
    "connectors": ("/pages/connector", "audit-to-files", 768, "light"),
    "locks": ("/coordination/locks", "worker-", 390, "dark"),
}
_HEIGHT = 800


def page(address: str) -> str:
    with urlopen(address, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def test_every_picture_of_the_page_is_there_and_small() -> None:
    assert [Path(each).stem for each in PICTURES] == [f"tour-{name}" for name in VIEWS]
    for each in PICTURES:
        assert (DOCS / "tutorial" / each).stat().st_size < 80_000, each


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The console of a cluster, while `quorate demo` runs."""
    directory = tmp_path_factory.mktemp("tour")
    playing = Program("quorate demo", directory / "demo.out")
    with Cluster(directory, plugins=PLUGINS, tls=False) as cluster:
        cluster.ready()
        command = (sys.executable, "-m", "quorate.cli", "demo", "--endpoints", cluster.endpoints)
        playing.start(command, os.environ)
        try:
            until(lambda: not playing.runs or "\nready;" in playing.said or None)
            assert playing.runs, playing.said
            root = f"http://{cluster.nodes['node1'].http_address}/console"
            # Its rows are counted every ten seconds, and then the last tenant is nearly full.
            until(lambda: "demo-initech" in page(root) or None)
            yield root
            playing.send_signal(signal.SIGINT)
            assert playing.wait() == 0
            # What it held it has let go of.
            with Client(cluster.endpoints) as q:
                assert list(q.brokers.list(cluster_name="demo")) == []
        finally:
            playing.close()


@pytest.mark.ci
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", VIEWS)
def test_the_console_shows_what_the_page_shows(root: str, name: str, chromium: Browser) -> None:
    path, text, *best = VIEWS[name]
    pictures = os.environ.get("QUORATE_PICTURES")
    for width in (1_440, 768, 390):
        for scheme in ("light", "dark"):
            chromium.size(width, _HEIGHT)
            chromium.scheme(scheme)
            chromium.open(f"{root}{path}")
            chromium.shows(text)
            assert chromium.run("return document.documentElement.scrollWidth") <= width
            if pictures is not None and [width, scheme] == best:
                chromium.picture(Path(pictures) / f"tour-{name}.png")
    assert chromium.logged() == []


@pytest.mark.ci
@pytest.mark.timeout(300)
def test_an_operator_finds_the_full_tenant_and_who_holds_a_lock_with_a_click(
    root: str, chromium: Browser
) -> None:
    for link, text in (("tenant demo-initech", "Tenant demo-initech"), ("Locks", "worker-")):
        chromium.size(1_440, _HEIGHT)
        chromium.open(root)
        chromium.follow(link)
        chromium.shows(text)
