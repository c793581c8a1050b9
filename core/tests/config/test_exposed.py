"""Secrets in files that every user of the machine can read."""

from __future__ import annotations

from pathlib import Path

import pytest
from quorate.config import load
from quorate.config.exposed import exposed


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory that others can enter, as are those above it."""
    for each in (tmp_path, *tmp_path.parents):
        if each.stat().st_uid == tmp_path.stat().st_uid and not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o001)
    for name in ("token", "root", "q1.key"):
        (tmp_path / name).write_text("a secret of its own, which is long enough")
    (tmp_path / "both.pem").write_text("-----BEGIN PRIVATE KEY-----")
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
    (tmp_path / "quorate.toml").write_text(
        f"""
        [cluster]
        token = {{ file = "{tmp_path}/token" }}
        [auth]
        root_token_file = "{tmp_path}/root"
        [tls]
        cert_file = "{tmp_path}/both.pem"
        key_file = "{tmp_path}/q1.key"
        ca_file = "{tmp_path}/ca.pem"
        """
    )
    return tmp_path


def found(site: Path) -> list[str]:
    file = site / "quorate.toml"
    return [setting for setting, _ in exposed(load(file, {}, {}), file)]


def test_each_file_with_a_secret_is_named_while_others_can_read_it(site: Path) -> None:
    names = ["cluster.token", "tls.cert_file", "tls.key_file", "auth.root_token_file"]
    files = ["token", "both.pem", "q1.key", "root"]
    for each in files:
        (site / each).chmod(0o644)
    assert sorted(found(site)) == sorted(names)

    for name, each in zip(names, files, strict=True):
        assert name in found(site)
        # Those who run the node may share it.
        (site / each).chmod(0o640)
        assert name not in found(site)


def test_the_configuration_is_one_when_it_holds_a_secret_itself(site: Path) -> None:
    file = site / "quorate.toml"
    (site / "token").chmod(0o600)
    file.chmod(0o644)
    assert "the configuration file" not in found(site)

    file.write_text('[cluster]\ntoken = "hush-hush"\n')

    assert found(site) == ["the configuration file"]
    site.chmod(0o700)
    assert not found(site)
