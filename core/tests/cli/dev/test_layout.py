from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from quorate.cli.dev.nodes import DevNode, claimed, demand_free_ports, prepare
from quorate.cli.failures import ExitCode, Failure
from quorate.config import Settings, load
from quorate.node.certificates import Certificates


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory that is not there yet."""
    return tmp_path / "dev"


def made(
    directory: Path,
    *,
    nodes: int | None = None,
    port: int | None = None,
    enabled: Sequence[str] = (),
    tls: bool = False,
) -> list[DevNode]:
    directory.mkdir(exist_ok=True)
    models = {"toy": None, "tea": None}
    return prepare(directory, nodes=nodes, port=port, enabled=enabled, models=models, tls=tls)


def settings(node: DevNode) -> Settings:
    return load(node.config, {"toy": None, "tea": None}, {})


def test_without_a_word_there_are_three_nodes_at_the_ports_of_the_documents(home: Path) -> None:
    nodes = made(home)

    assert [(node.name, node.address, node.http_address) for node in nodes] == [
        ("node1", "127.0.0.1:7401", "127.0.0.1:7501"),
        ("node2", "127.0.0.1:7402", "127.0.0.1:7502"),
        ("node3", "127.0.0.1:7403", "127.0.0.1:7503"),
    ]


def test_a_file_says_all_that_a_node_must_know(home: Path) -> None:
    [_, second] = made(home, nodes=2, port=9001, enabled=["toy"])

    read = settings(second)
    assert (read.node.name, read.node.port) == ("node2", 9002)
    assert read.node.dir == home / "node2"
    assert dict(read.cluster.initial_members) == {
        "node1": "127.0.0.1:9001",
        "node2": "127.0.0.1:9002",
    }
    assert read.plugins.enabled == ("toy",)
    assert second.log == home / "node2.log"


def test_the_next_start_takes_what_the_directory_has(home: Path) -> None:
    first = made(home, nodes=2, port=9001)

    assert made(home) == first


def test_what_the_user_has_added_is_kept(home: Path) -> None:
    [node] = made(home, nodes=1)
    node.config.write_text(
        node.config.read_text() + "\n[timing]\nheartbeat_ms = 77\n[plugins.toy]\n# mine\n"
    )

    made(home, port=9001, enabled=["toy"])

    assert settings(node).timing.heartbeat_ms == 77
    assert "# mine" in node.config.read_text()
    assert settings(node).node.port == 9001


def test_a_plugin_that_the_user_has_retired_is_not_enabled_again(home: Path) -> None:
    [node] = made(home, nodes=1, enabled=["tea", "toy"])
    text = node.config.read_text()
    node.config.write_text(text.replace("[plugins]", '[plugins]\nretired = ["toy"]'))

    made(home, enabled=["tea", "toy"])

    assert settings(node).plugins.enabled == ("tea",)


def test_another_number_of_nodes_is_refused_and_changes_nothing(home: Path) -> None:
    made(home, nodes=2)
    (home / "node1").mkdir()

    with pytest.raises(Failure, match="holds a cluster of 2 nodes, and 3 were asked for") as failed:
        made(home, nodes=3)
    assert failed.value.exit_code is ExitCode.USAGE
    assert not (home / "node3.toml").exists()


def test_a_directory_with_other_things_is_left_alone(home: Path) -> None:
    home.mkdir()
    (home / "mine").write_text("mine")

    with pytest.raises(Failure, match="contains files that are not"):
        made(home)
    assert [path.name for path in home.iterdir()] == ["mine"]


def test_ports_beyond_the_last_are_refused(home: Path) -> None:
    with pytest.raises(Failure, match="the last HTTP port would be 65536"):
        made(home, nodes=2, port=65_435)


def test_a_file_that_is_no_toml_is_named(home: Path) -> None:
    [node] = made(home, nodes=1)
    node.config.write_text("[")

    with pytest.raises(Failure, match=r"node1\.toml is not TOML") as failed:
        made(home)
    assert failed.value.exit_code is ExitCode.CONFIGURATION


def test_a_file_without_members_is_named(home: Path) -> None:
    [node] = made(home, nodes=1)
    node.config.write_text("[node]\nport = 7401\n")

    with pytest.raises(Failure, match=r"node1\.toml names no node\.port or no cluster"):
        made(home)


def test_a_setting_that_is_wrong_is_told_with_its_place(home: Path) -> None:
    [node] = made(home, nodes=1)
    node.config.write_text(node.config.read_text() + "\n[timing]\nheartbeat_ms = 0\n")

    with pytest.raises(Failure, match="heartbeat_ms") as failed:
        made(home)
    assert failed.value.exit_code is ExitCode.CONFIGURATION


def test_every_port_that_is_in_use_is_named(home: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        grpc, http = (f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second))
        node = DevNode(name="node2", address=grpc, http_address=http, config=home, log=home)
        with pytest.raises(Failure) as failed:
            demand_free_ports([node])

    assert [each.sentence.partition(";")[0] for each in failed.value.problems] == [
        f"{grpc}, for gRPC of node2, is in use",
        f"{http}, for HTTP of node2, is in use",
    ]


def test_two_do_not_share_a_directory(home: Path) -> None:
    with (
        claimed(home),
        pytest.raises(Failure, match="another `quorate dev` runs in"),
        claimed(home),
    ):
        pass
    with claimed(home):
        pass


def test_another_number_of_nodes_is_taken_until_there_is_data(home: Path) -> None:
    made(home, nodes=3)

    assert len(made(home, nodes=5)) == len(made(home)) == 5
    (home / "node1").mkdir()
    with pytest.raises(Failure, match="holds a cluster of 5 nodes, and 3 were asked for"):
        made(home, nodes=3)


def test_each_node_of_an_encrypted_cluster_has_a_certificate(home: Path) -> None:
    made(home, nodes=2, tls=True)
    before = (home / "certs" / "node2.pem").read_bytes()
    # One more, and what a start that was killed has not made yet.
    (home / "certs" / "client.pem").unlink()
    nodes = made(home, nodes=3, tls=True)

    assert (home / "certs" / "node2.pem").read_bytes() == before
    assert (home / "certs" / "client.pem").exists()
    for node in nodes:
        assert Certificates(settings(node).tls, node.name).peers().replaced() == 0
    # They stay encrypted.
    assert [node.ca for node in made(home)] == [home / "certs" / "ca.pem"] * 3
