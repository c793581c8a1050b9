"""The console of a cluster with every plugin, as a browser sees it."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from google.protobuf import empty_pb2
from quorate.builtin.tenant.quotas import QUOTAS
from quorate.client import Client
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import until
from quorate.v1 import auth_pb2, quota_pb2, tenant_pb2
from quorate_connector.client import SyncConnectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_coordination.client import SyncCoordination
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import Topic
from quorate_offset.client import SyncOffsets

from tests.console.browser import DESKTOP, PHONE, Browser

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

PLUGINS = (
    *("connector", "coordination", "mqtt", "name_server", "offset", "spark", "storage_engine"),
    "zookeeper",
)
TAB, ENTER = "\ue004", "\ue007"
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
    settings = {"timing": QUICK_ELECTIONS}
    directory = tmp_path_factory.mktemp("console")
    with Cluster(directory, plugins=PLUGINS, settings=settings, tls=False) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="module")
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        yield q


def trouble(q: Client) -> None:
    """Have a tenant that is full, and a connector that no worker takes."""
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


def user(q: Client, name: str, *roles: str) -> str:
    """Return the token of a new user with some roles."""
    q.call("/quorate.v1.UserService/Create", auth_pb2.User(name=name), auth_pb2.User)
    for role in roles:
        binding = auth_pb2.Binding(user=name, role=role)
        q.call("/quorate.v1.BindingService/Put", binding, auth_pb2.Binding)
    token = auth_pb2.IssueToken(user=name)
    return q.call("/quorate.v1.TokenService/Issue", token, auth_pb2.NewToken).text


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
        links = {link for each in pages.values() for link in Links(each).found}
        # The same page in another order, and as CSV, is no other page.
        paths = {link for link in links if "sort=" not in link and "csv=" not in link}
    return pages


def test_every_page_is_there(cluster: Cluster) -> None:
    pages = reached(cluster)

    assert len(pages) > 40
    assert {"/console/pages/engine", "/console/mqtt/sessions", "/console/quotas"} <= pages.keys()
    assert {"/console/rates", "/console/slow-writes", "/console/pages/loads"} <= pages.keys()
    assert all("<h1>" in each for path, each in pages.items() if "csv=1" not in path)
    assert page(cluster, "/console/none")[0] == 404
    assert page(cluster, "/console/shards/none/0")[0] == 404


def test_the_address_alone_leads_to_the_console(cluster: Cluster) -> None:
    status, shown = page(cluster, "/")

    assert (status, "<h1>Overview</h1>" in shown) == (200, True)


def test_what_has_been_done_is_shown_to_who_looks_later(cluster: Cluster, q: Client) -> None:
    """The nodes keep samples themselves."""
    q.kv.put("looked/at", b"1")

    until(lambda: "Commands written a second: now" in page(cluster)[1] or None)


def test_rows_lead_to_what_they_belong_to(cluster: Cluster, q: Client) -> None:
    tenant = tenant_pb2.CreateTenant(name="linked")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    q.records(TOPIC).create([Topic(tenant="linked", name="t/1", partitions=1, replication=1)])
    _, listed = page(cluster, "/console/mqtt/topics?tenant=linked")
    links = Links(listed).found
    own = "/console/mqtt/topics/row?tenant=linked&name=t%2F1"
    above = "/console/tenant/tenants/row?name=linked"

    assert {own, above} <= {*links}
    assert "It has no such topic" not in page(cluster, own)[1]
    status, shown = page(cluster, above)
    assert (status, own in Links(shown).found) == (200, True)
    status, gone = page(cluster, "/console/tenant/tenants/row?name=none")
    assert "There is no tenant none" in gone


def test_one_field_finds_everything_with_a_name(cluster: Cluster, q: Client) -> None:
    tenant = tenant_pb2.CreateTenant(name="sought")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    q.records(TOPIC).create([Topic(tenant="sought", name="seek/1", partitions=1, replication=1)])
    q.kv.put("seek/pair", b"1")

    def found(text: str) -> str:
        return page(cluster, f"/console/search?q={text}")[1]

    assert "/console/tenant/tenants/row?name=sought" in found("sough")
    assert "seek/pair" in found("seek/")
    assert "/console/mqtt/topics/row?tenant=sought" in found("sought/seek")
    assert "/console/nodes/node2" in found("node2")
    assert "/console/shards/metadata/0" in found("metadata")
    assert "Nothing that you may see" in found("%00%FF%3Cb%3E")


def test_a_node_has_a_page(cluster: Cluster) -> None:
    status, shown = page(cluster, "/console/nodes/node2")

    assert (status, "Replicas" in shown, "metadata/0" in shown) == (200, True, True)
    assert page(cluster, "/console/nodes/none")[0] == 404
    assert "/console/nodes/node3" in page(cluster, "/console/map")[1]


def test_names_of_strangers_are_text(cluster: Cluster, q: Client) -> None:
    q.kv.put("<b>bold</b>", b"<script>alert(1)</script>")
    q.kv.put("long/" + "k" * 4_000, b"v" * 100_000)
    shown = page(cluster, "/console/pairs?prefix=%3Cb")[1]
    shown += page(cluster, "/console/pairs?prefix=%3Cb%3Ebold%3C/")[1]
    shown += page(cluster, "/console/pairs?prefix=long/")[1]

    assert "<b>bold" not in shown
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert "k" * 3_995 in shown
    assert "v" * 20_000 not in shown


def test_rows_with_the_names_of_strangers_are_text(cluster: Cluster, q: Client) -> None:
    tenant = tenant_pb2.CreateTenant(name="strange")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    names = ["<script>alert(1)</script>", "long/" + "t" * 3_000, '"><b onclick="alert(1)">']
    q.records(TOPIC).create(
        Topic(tenant="strange", name=each, partitions=1, replication=1) for each in names
    )
    _, listed = page(cluster, "/console/mqtt/topics?tenant=strange")
    rows = [each for each in Links(listed).found if "/mqtt/topics/row?" in each]

    assert len(rows) == len(names)
    searched = [f"/console/search?q={quote(each[:40])}" for each in names]
    for path in ("/console/mqtt/topics?tenant=strange", *rows, *searched):
        status, shown = page(cluster, path)
        assert status == 200, path
        assert "There is no topic" not in shown
        assert "<script>alert" not in shown
        assert "<b onclick" not in shown


def test_a_mistyped_address_leads_back(cluster: Cluster) -> None:
    status, shown = page(cluster, "/console/none/<b>")

    assert status == 404
    assert "Back to the overview" in shown
    assert "/<b>" not in shown


def test_a_page_says_when_it_is_renewed_no_more(cluster: Cluster, chromium: Browser) -> None:
    chromium.size(*DESKTOP)
    chromium.open(f"http://{cluster.nodes['node1'].http_address}/console/quotas")
    chromium.run("window.fetch = () => Promise.reject(new Error('lost'))")

    chromium.shows("the node does not answer")


def test_rows_are_sorted_found_and_taken_away_without_scripts(cluster: Cluster, q: Client) -> None:
    for name in ("sorted-a", "sorted-b", "sorted-c"):
        tenant = tenant_pb2.CreateTenant(name=name)
        q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    path = "/console/tenant/tenants?prefix=sorted-"

    up, down = (page(cluster, f"{path}&sort={each}")[1] for each in ("name", "-name"))
    assert up.index("name=sorted-a") < up.index("name=sorted-c")
    assert down.index("name=sorted-a") > down.index("name=sorted-c")
    assert "sorted-a" not in page(cluster, f"{path}&find=ed-b")[1].partition("<tbody>")[2]
    lines = page(cluster, f"{path}&csv=1")[1].splitlines()
    assert [each.partition(",")[0] for each in lines] == [
        "name",
        "sorted-a",
        "sorted-b",
        "sorted-c",
    ]


SEEN = (
    *("", "/map", "/alarms", "/nodes/node2", "/shards/metadata/0", "/search?q=a", "/none"),
    *("/tenant/tenants", "/mqtt/topics", "/coordination/locks", "/pages/connector", "/quotas"),
)


@pytest.mark.parametrize("path", SEEN)
def test_pages_can_be_used_by_everybody(
    cluster: Cluster, q: Client, chromium: Browser, axe: Path, path: str
) -> None:
    with SyncCoordination(q).lock("seen/one", owner="somebody"):
        chromium.usable(f"http://{cluster.nodes['node1'].http_address}/console{path}", axe)


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


def test_what_an_operator_looks_for_is_found_within_two_clicks(
    cluster: Cluster, q: Client, chromium: Browser
) -> None:
    trouble(q)
    lagging = next(each for each in cluster.followers() if each.name != "node1")
    lagging.kill()
    root = f"http://{cluster.nodes['node1'].http_address}/console"

    def found(*clicks: str) -> str:
        assert len(clicks) <= 2
        chromium.open(root)
        for text in clicks:
            chromium.follow(text)
        return chromium.text

    def all_is_found() -> bool:
        return bool(
            re.search(rf"{lagging.name}\t.*{WARNING} ?does not answer", found())
            and re.search(rf"{lagging.name}\t.*{WARNING}", found("metadata/0"))
            and re.search(r"stuck\tsink\t0\tunassigned", found("Tasks of connectors"))
            and f"{WARNING} full" in found("Quotas in use")
            and f"{WARNING} 3 of 1 rows are used" in found("What to do")
            and "Tenant full" in found("tenant full")
            and re.search(r"held/one\toperator-7\t", found("Locks"))
        )

    try:
        with SyncCoordination(q).lock("held/one", owner="operator-7"):
            until(lambda: all_is_found() or None)
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
        assert "has given no token" in page(cluster)[1]
        status, refused = page(cluster, token="wrong")
        assert (status, "is not accepted" in refused) == (401, True)
        assert "Back to the overview" in refused
        # It is told nothing of what there is.
        assert "/console/auth/users" not in refused
        with Client(cluster.endpoints, token=made.text) as q:
            bob = user(q, "bob")
        until(lambda: page(cluster, token=bob)[0] != 401 or None)
        status, shown = page(cluster, token=made.text)
        assert (status, "1 of 1 nodes are ready" in shown) == (200, True)
        assert page(cluster, "/console/auth/users", made.text)[0] == 200
        assert page(cluster, "/console/auth/users", bob)[0] == 403


def test_a_token_that_ends_while_a_page_is_open_is_told(tmp_path: Path, chromium: Browser) -> None:
    with Cluster(tmp_path / "ending", nodes=1, tls=False) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            enable = auth_pb2.EnableAuth(administrator="ada")
            made = q.call("/quorate.v1.AuthService/Enable", enable, auth_pb2.NewToken)
        with Client(cluster.endpoints, token=made.text) as q:
            user(q, "bob", "reader")
            asked = auth_pb2.IssueToken(user="bob", ttl_ms=3_600_000)
            issued = q.call("/quorate.v1.TokenService/Issue", asked, auth_pb2.NewToken)
            until(lambda: page(cluster, token=issued.text)[0] == 200 or None)
            chromium.token(issued.text)
            chromium.size(*DESKTOP)
            try:
                chromium.open(f"http://{cluster.nodes['node1'].http_address}/console")
                chromium.shows("1 of 1 nodes are ready")
                ended = auth_pb2.DeleteToken(user="bob", id=issued.token.id)
                q.call("/quorate.v1.TokenService/Delete", ended, empty_pb2.Empty)
                # What was shown stays, and is said to be old.
                chromium.shows("your token has ended, load the page again")
                assert "1 of 1 nodes are ready" in chromium.text
            finally:
                chromium.token("")
        status, refused = page(cluster, "/console/tenant/tenants", issued.text)
        assert (status, "it has ended, was revoked" in refused) == (401, True)
        assert "quorate auth token create" in refused


def test_a_node_without_a_majority_says_what_it_knows(tmp_path: Path) -> None:
    with Cluster(tmp_path, plugins=["mqtt"], tls=False) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.kv.put("kept/1", b"1")
        until(lambda: "kept/" in page(cluster, "/console/pairs?stale=yes")[1] or None)
        for name in ("node2", "node3"):
            cluster.nodes[name].kill()

        until(lambda: page(cluster, "/console/pairs")[0] == 503 or None)
        _, shown = page(cluster, "/console/pairs?prefix=kept/")
        assert "The cluster does not answer" in shown
        assert "node1 runs and has made this page" in shown
        [old] = [each for each in Links(shown).found if "stale=yes" in each]
        status, shown = page(cluster, old)
        assert (status, "kept/1" in shown, "they may be old" in shown) == (200, True, True)
        # What the node knows by itself it shows.
        for path in ("", "/map", "/nodes/node1", "/nodes/node2"):
            assert page(cluster, f"/console{path}")[0] == 200, path
        assert "does not answer" in page(cluster)[1]


def test_the_lag_of_consumers_is_shown_for_an_end_that_is_given(
    cluster: Cluster, q: Client, chromium: Browser
) -> None:
    tenant = tenant_pb2.CreateTenant(name="consumers")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    SyncOffsets(q).commit("consumers", "billing", "orders", 0, 42)

    chromium.open(f"http://{cluster.nodes['node1'].http_address}/console/pages/offset")
    chromium.follow("billing")
    chromium.shows("42")
    chromium.write("end", "orders/0=50")
    chromium.click("//button[text()='Show']")
    chromium.shows("orders\t0\t42\t50\t8")


def test_a_browser_shows_every_page_without_an_error(cluster: Cluster, chromium: Browser) -> None:
    root = f"http://{cluster.nodes['node1'].http_address}"
    # Of pages with different rows two are as good as any.
    same: dict[str, list[str]] = {}
    for path in sorted(reached(cluster)):
        same.setdefault(path.partition("?")[0], []).append(path)
    for path in (each for paths in same.values() for each in paths[:2]):
        chromium.size(*DESKTOP)
        chromium.scheme("light")
        chromium.open(f"{root}{path}")
        assert chromium.run("return document.querySelectorAll('h1').length") == 1, path
        chromium.size(*PHONE)
        chromium.scheme("dark")
        wide = chromium.run("return document.documentElement.scrollWidth")
        assert wide <= PHONE[0], (path, wide)
        assert chromium.logged() == [], path


def test_a_keyboard_is_enough(cluster: Cluster, chromium: Browser) -> None:
    chromium.size(*DESKTOP)
    chromium.open(f"http://{cluster.nodes['node1'].http_address}/console")
    chromium.keys(TAB)
    assert chromium.run("return document.activeElement.className") == "skip"
    chromium.keys(ENTER)
    assert chromium.run("return document.activeElement.id") == "main"
    chromium.keys(TAB)
    assert chromium.run("return document.activeElement.innerText") == "5m"
    chromium.keys("/")
    assert chromium.run("return document.activeElement.id") == "q"
    chromium.keys(f"metadata/{ENTER}")
    chromium.shows("metadata/0")
    chromium.follow("metadata/0")
    chromium.shows("Shard metadata/0")


def test_what_changes_is_shown_without_a_click(
    cluster: Cluster, q: Client, chromium: Browser
) -> None:
    root = f"http://{cluster.nodes['node1'].http_address}"
    chromium.open(f"{root}/console/tenant/tenants?prefix=renewed-")
    assert "renewed-1" not in chromium.text
    tenant = tenant_pb2.CreateTenant(name="renewed-1")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)

    chromium.shows("renewed-1")


def test_an_operator_acts_and_it_is_recorded(tmp_path: Path, chromium: Browser) -> None:
    audit, backups = tmp_path / "audit.jsonl", tmp_path / "backups"
    settings: dict[str, dict[str, object]] = {
        "console": {"actions": True, "backup_dir": str(backups)},
        "audit": {"file": str(audit)},
    }
    directory = tmp_path / "acting"
    with Cluster(
        directory, nodes=1, plugins=["connector", "mqtt"], settings=settings, tls=False
    ) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            trouble(q)
            enable = auth_pb2.EnableAuth(administrator="ada")
            made = q.call("/quorate.v1.AuthService/Enable", enable, auth_pb2.NewToken)
        root = f"http://{cluster.nodes['node1'].http_address}/console"
        until(lambda: page(cluster)[0] == 401 or None)
        with Client(cluster.endpoints, token=made.text) as q:
            bob = user(q, "bob", "reader")
        chromium.token(made.text)

        chromium.open(f"{root}/pages/connector")
        chromium.follow("pause")
        chromium.shows("quorate connector pause stuck sink")
        chromium.click("//button[text()='Do it']")
        chromium.shows("paused")
        chromium.open(f"{root}/actions/change?kind=tenant&name=full")
        chromium.write("rows", "10")
        chromium.click("//button[text()='Show what it does']")
        chromium.shows("quorate tenant quota update --rows=10 tenant full")
        chromium.click("//button[text()='Do it']")
        until(lambda: "of 10" in page(cluster, "/console/quotas", made.text)[1] or None)
        chromium.open(f"{root}/actions/transfer?shard=none/0&node=node1")
        chromium.shows("there is no shard none/0")
        chromium.open(f"{root}/actions/backup")
        chromium.click("//button[text()='Do it']")
        chromium.shows("files")
        [backup] = backups.iterdir()
        assert (backup / "backup.json").is_file()
        logged = [each for each in chromium.logged() if "400" not in str(each["message"])]
        assert logged == []

        # A reader sees what would run, and is refused.
        chromium.token(bob)
        chromium.open(f"{root}/actions/connector/resume?tenant=stuck&connector=sink")
        chromium.click("//button[text()='Do it']")
        chromium.shows("This was refused")

    records = [json.loads(line) for line in audit.read_text().splitlines()]
    done = {
        (each["identity"], each["action"].rpartition(".")[2], each["outcome"]) for each in records
    }
    assert ("ada", "UpdateQuotas", "OK") in done
    assert ("ada", "AdminService/Backup", "OK") in done
    assert any(who == "ada" and "Connector" in what and code == "OK" for who, what, code in done)
    assert any(who == "bob" and code == "PERMISSION_DENIED" for who, _, code in done)


def test_pictures_for_the_docs(cluster: Cluster, q: Client, chromium: Browser) -> None:
    """Takes docs/images/console.png and console-phone.png."""
    directory = os.environ.get("QUORATE_PICTURES")
    if directory is None:
        pytest.skip("pictures are taken into the directory that QUORATE_PICTURES names")
    root = f"http://{cluster.nodes['node1'].http_address}/console"
    for number in range(400):
        q.kv.put(f"load/{number % 50}", b"v")
        q.kv.get(f"load/{number % 50}")
    until(lambda: "Reads, p99: now" in page(cluster)[1] or None)
    for name, path, size, scheme in (
        ("console.png", "?range=5m", DESKTOP, "light"),
        ("console-phone.png", "/map", PHONE, "dark"),
    ):
        chromium.size(*size)
        chromium.scheme(scheme)
        chromium.open(f"{root}{path}")
        chromium.picture(Path(directory) / name)
