"""Rows come back into a running cluster as they were, and no others change."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.builtin.auth.plugin import USER
from quorate.builtin.schema.plugin import BINDING, SCHEMA
from quorate.cli.main import main
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.auth_pb2 import User
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.schema_pb2 import (
    SCHEMA_KIND_JSON,
    BindSchema,
    CreateSchema,
    PutSchema,
    UnbindSchema,
)
from quorate.v1.tenant_pb2 import CreateTenant, PutTenant, PutTenants, Tenant
from quorate_connector.resources import CONNECTOR
from quorate_connector.v1.connectors_pb2 import (
    CreateConnectorRequest,
    Definition,
    UpdateConnectorRequest,
)
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest
from quorate_mqtt.v1.topics_pb2 import CreateTopics, DeleteTopic, DeleteTopics, Topic
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "back-up-and-restore.md"

pytestmark = pytest.mark.ci

Quorate = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path = tmp_path_factory.mktemp("beside")
    with Cluster(path, nodes=1, plugins=["connector", "mqtt", "offset"], tls=False) as cluster:
        cluster.ready()
        yield cluster


@pytest.fixture
def quorate(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Quorate:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--endpoints", cluster.endpoints])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def topic(tenant: str, name: str, **fields: Any) -> Topic:
    return Topic(tenant=tenant, name=name, partitions=1, replication=1, **fields)


def commit(client: Client, tenant: str, offset: int) -> None:
    item = GroupCommit(
        tenant=tenant, group="g", commits=[OffsetCommit(topic="t", partition=0, offset=offset)]
    )
    client.execute(CommitOffsetsRequest(groups=[item]), BatchReply)


def filled(client: Client) -> None:
    for tenant in ("acme", "bolt"):
        client.execute(CreateTenant(name=tenant, description="first"), Tenant)
        topics = [topic(tenant, f"t{number}") for number in range(5)]
        client.execute(CreateTopics(topics=topics), BatchReply)
        commit(client, tenant, 7)
    client.kv.put("app/kept", b"1")
    client.kv.put("app/lost", b"2")


def harmed(client: Client) -> None:
    for tenant in ("acme", "bolt"):
        gone = [DeleteTopic(tenant=tenant, name=f"t{number}") for number in range(3)]
        client.execute(DeleteTopics(topics=gone), BatchReply)
        client.execute(CreateTopics(topics=[topic(tenant, "later")]), BatchReply)
        changed = PutTenant(name=tenant, description="second")
        client.execute(PutTenants(tenants=[changed]), BatchReply)
        commit(client, tenant, 99)
    client.kv.delete("app/lost")
    client.kv.put("app/kept", b"3")


def plan(quorate: Quorate, backup: str, *options: str) -> dict[str, tuple[int, int, int]]:
    code, out, err = quorate(
        "restore", backup, "--beside", "--dry-run", "--output", "json", *options
    )
    assert code == 0, err
    return {
        row["family"]: (row["created"], row["replaced"], row["deleted"])
        for row in json.loads(out)
        if row["restored"] == "yes"
    }


def test_one_tenant_and_then_all_come_back(
    cluster: Cluster, quorate: Quorate, tmp_path: Path
) -> None:
    backup = str(tmp_path / "backup")
    with Client(cluster.endpoints) as client:
        filled(client)
        assert quorate("backup", backup)[0] == 0
        assert plan(quorate, backup) == {}
        harmed(client)

        differs = {
            "tenant.tenants": (0, 1, 0),
            "mqtt.topics": (3, 0, 1),
            "offset.offsets": (0, 1, 0),
        }
        assert plan(quorate, backup, "--tenant", "acme") == differs
        assert plan(quorate, backup, "--shard", "mqtt/0", "--tenant", "acme") == {
            "mqtt.topics": (3, 0, 1)
        }
        assert plan(quorate, backup, "--group", "metadata")["kv.pairs"] == (1, 1, 0)
        # Nothing is replaced that was not meant to be, and then nothing is written at all.
        code, _, err = quorate("restore", backup, "--beside", "--tenant", "acme")
        assert (code, "2 rows that differ now would be replaced" in err) == (1, True)
        assert plan(quorate, backup, "--tenant", "acme") == differs

        for line in shown():
            code, _, err = quorate(*line.replace("/srv/quorate-archive", backup).split()[1:])
            assert code == 0, err
        assert plan(quorate, backup, "--tenant", "acme") == {}
        # Others are as they were.
        assert plan(quorate, backup, "--tenant", "bolt") == differs
        assert client.kv.get("app/lost") is None

        code, _, err = quorate("restore", backup, "--beside", "--replace")
        assert code == 0, err
        # What came later stays.
        assert plan(quorate, backup) == {"mqtt.topics": (0, 0, 1)}
        assert {each.key: each.value for each in client.kv.list("app/")} == {
            b"app/kept": b"1",
            b"app/lost": b"2",
        }


def test_what_is_said_by_several_rows_or_made_by_other_verbs_comes_back(
    cluster: Cluster, quorate: Quorate, tmp_path: Path
) -> None:
    backup = str(tmp_path / "backup")
    with Client(cluster.endpoints) as client:
        client.execute(CreateTenant(name="cobb"), Tenant)
        schemas, bindings = client.records(SCHEMA), client.records(BINDING)
        connectors, users = client.records(CONNECTOR), client.records(USER)
        retained = client.records(RETAINED_MESSAGE)
        users.create([User(name="ada", description="first"), User(name="ben")])
        for name in ("kept", "lost"):
            schemas.do("Create", schema(name, b"1"))
            connectors.do("Create", connector(name, 1))
            retained.do("Put", message(name, b"first", expiry_ms=3_600_000))
        bindings.do("Bind", BindSchema(tenant="cobb", name="lost", resource="r"))
        assert quorate("backup", backup)[0] == 0

        bindings.do("Unbind", UnbindSchema(tenant="cobb", name="lost", resource="r"))
        for each in (schemas, connectors):
            each.delete("cobb", "lost")
        retained.delete("cobb", "lost")
        users.delete("ben")
        users.update(User(name="ada", description="second"))
        schemas.do("Put", schema("kept", b"2", PutSchema))
        connectors.do("Update", UpdateConnectorRequest(**of("kept"), definition=definition(2)))
        retained.do("Put", message("kept", b"second"))
        differs = {
            "auth.users": (1, 1, 0),
            "connector.connectors": (1, 1, 0),
            "mqtt.retained_messages": (1, 1, 0),
            "schema.bindings": (1, 0, 0),
            "schema.schemas": (1, 1, 0),
        }
        assert {name: each for name, each in plan(quorate, backup).items() if name in differs} == (
            differs
        )

        code, _, err = quorate("restore", backup, "--beside", "--replace")
        assert code == 0, err
        assert not differs.keys() & plan(quorate, backup).keys()
        assert "schema.versions cannot be restored beside" in err
        ada, lost = users.get("ada"), connectors.get("cobb", "lost")
        assert ada is not None
        assert ada.description == "first"
        assert lost is not None
        assert lost.definition.tasks_max == 1
        assert [each.payload for each in retained.list(tenant="cobb")] == [b"first"] * 2


def of(name: str) -> dict[str, Any]:
    return {"tenant": "cobb", "name": name}


def schema(name: str, definition: bytes, kind: Any = CreateSchema) -> Any:
    return kind(**of(name), kind=SCHEMA_KIND_JSON, definition=definition)


def definition(tasks_max: int) -> Definition:
    config = b'{"topic":"orders","path":"/var/lib/orders","format":"lines","sync":true}'
    return Definition(type="file", config=config, tasks_max=tasks_max)


def connector(name: str, tasks_max: int) -> CreateConnectorRequest:
    return CreateConnectorRequest(**of(name), definition=definition(tasks_max))


def message(topic: str, payload: bytes, **fields: Any) -> PutRetainedMessageRequest:
    return PutRetainedMessageRequest(tenant="cobb", topic=topic, payload=payload, **fields)


def shown() -> list[str]:
    """Return the commands that the page restores a tenant with, without the moment."""
    lines = re.findall(r"^\$ (quorate restore .*--beside.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) == 2
    return [shlex.join(shlex.split(re.sub(r" --to \S+", "", each))) for each in lines]


def test_what_cannot_be_meant_is_refused(
    cluster: Cluster, quorate: Quorate, tmp_path: Path
) -> None:
    backup = str(tmp_path / "backup")
    assert quorate("backup", backup)[0] == 0
    for options, said in (
        (("--replace",), "need --beside"),
        (("--beside", "--shard", "mqtt/77"), "there was no shard mqtt/77; name one of"),
        (("--beside", "--shard", "x"), "there was no shard x; name one of"),
        (("--beside", "--group", "none"), "there was no group none; name one of"),
        (("--beside", "--to", "2026-11-22T10:00:00Z"), "holds one moment alone"),
    ):
        code, _, err = quorate("restore", backup, *options)
        assert (code != 0, said in err) == (True, True), err
    assert cluster.nodes
