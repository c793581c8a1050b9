"""`quorate audit` shows the records of nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from quorate.plugin import keys
from quorate.v1.audit_pb2 import AuditRecords, FindWriter, FollowAudit, RowWriter

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Run

PUT = {
    "time": "2026-11-23T08:41:07.512Z",
    "node": "node1",
    "sequence": 1,
    "identity": "loader",
    "address": "192.0.2.9:51712",
    "domain": "mqtt",
    "action": "quorate_mqtt.v1.CreateTopics",
    "keys": [["acme", "a"], ["acme", "b"]],
    "outcome": "OK",
    "refused": [{"key": ["acme", "b"], "reason": "ALREADY_EXISTS"}],
}
PAUSE = {
    "time": "2026-11-23T08:41:08.000Z",
    "node": "node1",
    "sequence": 2,
    "identity": "",
    "address": "[::1]:7",
    "domain": "admin",
    "action": "/quorate.v1.AdminService/PauseController",
    "request": {"name": "a\x1b[2J"},
    "outcome": "PERMISSION_DENIED",
}


def test_each_record_is_a_line(run: Run, node: FakeNode) -> None:
    node.know("node1")
    node.records = [AuditRecords(), AuditRecords(records=map(json.dumps, (PUT, PAUSE)))]

    ran = run("audit", "--domain", "mqtt", "--domain", "admin")

    assert node.asked == [FollowAudit(domains=["mqtt", "admin"])]
    assert ran.out.splitlines() == [
        "2026-11-23T08:41:07.512Z node1: loader at 192.0.2.9:51712: quorate_mqtt.v1.CreateTopics "
        '[["acme", "a"], ["acme", "b"]]: OK, 1 of 2 refused',
        "2026-11-23T08:41:08.000Z node1: somebody at [::1]:7: "
        '/quorate.v1.AdminService/PauseController {"name": "a\\u001b[2J"}: PERMISSION_DENIED',
    ]


def test_in_json_a_record_is_what_the_node_has(run: Run, node: FakeNode) -> None:
    node.know("node1")
    node.records = [AuditRecords(records=[json.dumps(PUT)])]

    assert json.loads(run("audit", "--node", "node1", "--output", "json").out) == PUT


@pytest.mark.parametrize(
    ("arguments", "family", "key"),
    [
        (("kv", "jobs/1"), "kv.pairs", b"jobs/1"),
        (("mqtt.topics", '["acme", "a"]'), "mqtt.topics", keys.pack("acme", "a")),
        (("mqtt.topics", "[acme"), "mqtt.topics", b"[acme"),
        (("kv", "--hex", "00ff"), "kv.pairs", b"\x00\xff"),
    ],
)
def test_the_writer_of_a_row_is_asked_for_by_its_key(
    run: Run, node: FakeNode, arguments: tuple[str, ...], family: str, key: bytes
) -> None:
    node.writer = RowWriter(
        revision=7, shard=2, known=True, identity="ada", written_at_ms=1_795_423_267_512
    )

    ran = run("audit", "writer", *arguments, "--output", "json")

    assert node.asked == [FindWriter(family=family, key=key)]
    assert json.loads(ran.out) == [
        {
            "known": True,
            "identity": "ada",
            "written at": "2026-11-23T08:41:07.512+00:00",
            "shard": 2,
            "revision": 7,
        }
    ]
