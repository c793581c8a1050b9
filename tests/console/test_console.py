"""The console of a cluster with every plugin, as a browser sees it."""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from quorate.builtin.tenant.quotas import QUOTAS
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1 import auth_pb2, quota_pb2, tenant_pb2
from quorate_connector.client import SyncConnectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import Topic

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

PLUGINS = ("connector", "coordination", "mqtt", "name_server", "offset", "storage_engine")
WARNING = "⚠"


class Links(HTMLParser):
    """The links of a page that stay in the console."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") or ""
        if tag == "a" and href.startswith("/console"):
            self.found.append(href)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {"timing": {"heartbeat_ms": 50, "election_min_ms": 300, "election_max_ms": 600}}
    directory = tmp_path_factory.mktemp("console")
    with Cluster(directory, plugins=PLUGINS, settings=settings, tls=False) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="module")
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        yield q


def page(cluster: Cluster, path: str = "/console", token: str = "") -> tuple[int, str]:
    request = Request(f"http://{cluster.nodes['node1'].http_address}{path}")
    if token:
        request.add_header("Authorization", f"Basic {b64encode(f':{token}'.encode()).decode()}")
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def reached(cluster: Cluster, clicks: int = 2) -> dict[str, str]:
    """Return every page that so many clicks lead to, from the first one."""
    pages: dict[str, str] = {}
    paths = {"/console"}
    for _ in range(clicks + 1):
        for path in paths - pages.keys():
            status, pages[path] = page(cluster, path)
            assert status == 200, (path, pages[path])
        paths = {link for each in pages.values() for link in Links(each).found}
    return pages


def test_every_page_is_there(cluster: Cluster) -> None:
    pages = reached(cluster)

    assert len(pages) > 40
    assert {"/console/pages/engine", "/console/mqtt/sessions", "/console/quotas"} <= pages.keys()
    assert all("<h1>" in each for each in pages.values())
    assert page(cluster, "/console/none")[0] == 404
    assert page(cluster, "/console/shards/none/0")[0] == 404


def test_rows_are_found_page_by_page(cluster: Cluster, q: Client) -> None:
    for number in range(101):
        request = tenant_pb2.CreateTenant(name=f"many-{number:03}")
        q.call("/quorate.v1.TenantService/Create", request, tenant_pb2.Tenant)
    _, first = page(cluster, "/console/tenant/tenants?prefix=many-")
    assert "many-000" in first
    assert "many-100" not in first
    [more] = [link for link in Links(first).found if "page=" in link]
    _, second = page(cluster, more)

    assert "many-100" in second
    assert "many-000" not in second


def test_what_an_operator_looks_for_is_found_within_three_clicks(
    cluster: Cluster, q: Client
) -> None:
    for name in ("full", "stuck"):
        tenant = tenant_pb2.CreateTenant(name=name)
        q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    q.records(QUOTAS).put(quota_pb2.Quota(kind="tenant", name="full", rows=1))
    topics = [
        Topic(tenant="full", name=f"t/{number}", partitions=1, replication=1) for number in range(3)
    ]
    q.records(TOPIC).create(topics)
    definition = Definition(type="file", config=b'{"topic": "a", "path": "/a"}')
    request = CreateConnectorRequest(tenant="stuck", name="sink", definition=definition)
    SyncConnectors(q).create(request)
    lagging = next(each for each in cluster.followers() if each.name != "node1")
    lagging.kill()

    def found() -> bool | None:
        pages = reached(cluster)
        return (
            f"{WARNING}</span> does not answer" in pages["/console"]
            and re.search(rf"{lagging.name}</td>.*{WARNING}", pages["/console/shards/metadata/0"])
            and f"{WARNING}</span> full" in pages["/console/quotas"]
            and "stuck" in pages["/console/pages/connector"]
        ) or None

    try:
        until(found)
    finally:
        lagging.start()
        lagging.ready()


def test_pages_show_what_their_callers_may_read(tmp_path: Path) -> None:
    with Cluster(tmp_path / "closed", nodes=1, plugins=["mqtt"], tls=False) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            enable = auth_pb2.EnableAuth(administrator="ada")
            made = q.call("/quorate.v1.AuthService/Enable", enable, auth_pb2.NewToken)
        until(lambda: page(cluster)[0] == 401 or None)
        assert page(cluster, token="wrong")[0] == 401
        with Client(cluster.endpoints, token=made.text) as q:
            user = auth_pb2.User(name="bob")
            q.call("/quorate.v1.UserService/Create", user, auth_pb2.User)
            token = auth_pb2.IssueToken(user="bob")
            bob = q.call("/quorate.v1.TokenService/Issue", token, auth_pb2.NewToken)
        until(lambda: page(cluster, token=bob.text)[0] != 401 or None)
        status, shown = page(cluster, token=made.text)
        assert (status, "There are no alarms" in shown) == (200, True)
        assert page(cluster, "/console/auth/users", made.text)[0] == 200
        assert page(cluster, "/console/auth/users", bob.text)[0] == 403


def test_a_browser_shows_every_page_without_an_error(cluster: Cluster, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed: Debian has it in the package chromium")
    root = f"http://{cluster.nodes['node1'].http_address}"
    for path in (
        "/console",
        "/console/quotas",
        "/console/shards/metadata/0",
        "/console/pages/engine",
    ):
        done = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                "--virtual-time-budget=4000",
                "--dump-dom",
                f"{root}{path}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert "<h1>" in done.stdout
        assert re.findall(r"CONSOLE.*", done.stderr) == []
