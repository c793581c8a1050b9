"""The file of a broker: what is wrong in it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from quorate_amqtt.cli import main
from quorate_amqtt.config import Settings

SMALLEST = "name: north\ntenant: acme\n"


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "broker.yaml"
    file.write_text(text)
    return Settings.of_file(file)


def test_a_name_and_a_tenant_are_enough(tmp_path: Path) -> None:
    settings = read(tmp_path, SMALLEST)

    assert settings.listeners["default"].bind == "127.0.0.1:1883"
    assert (settings.anonymous, settings.allow_unmatched) == (False, False)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("tenant: acme", "name"),
        (SMALLEST + "nickname: south", "nickname"),
        (SMALLEST + "ttl_ms: 10", "ttl_ms"),
        (SMALLEST + "listeners: {other: {}}", "default"),
        (SMALLEST + "listeners: {default: {bnid: x}}", "bnid"),
        (SMALLEST + "peers: {bind: '0.0.0.0:7000'}", "insecure"),
        (SMALLEST + "peers: {certfile: a.pem}", "belong together"),
        ("name: [", "YAML"),
        ("- north", "valid dictionary"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "peers",
    ["{bind: '0.0.0.0:7000', insecure: true}", "{bind: '[::1]:0'}", "{bind: 'localhost:0'}"],
)
def test_where_brokers_may_reach_each_other_without_certificates(
    tmp_path: Path, peers: str
) -> None:
    assert read(tmp_path, f"{SMALLEST}peers: {peers}").peers.certfile is None


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("tenant: acme")

    ended = CliRunner().invoke(main, ["--config", str(file)])

    assert ended.exit_code == 1
    assert "name" in ended.output
    assert "Traceback" not in ended.output
