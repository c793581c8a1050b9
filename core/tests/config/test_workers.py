"""The settings of the workers of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from quorate.config import ConfigError, Settings, load
from quorate.config.workers import Worker, workers_of


def settings(path: Path, text: str) -> Settings:
    file = path / "quorate.toml"
    file.write_text(text)
    return load(file, {}, {})


def workers(path: Path, text: str, cores: int | None = None) -> tuple[Worker, ...]:
    return workers_of(settings(path, text), path / "quorate.toml", cores)


def refused(path: Path, text: str, cores: int | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        workers(path, text, cores)
    return [f"{each.key}: {each.what}; {each.fix}" for each in caught.value.problems]


def test_a_node_is_one_process_unless_it_says_more(tmp_path: Path) -> None:
    assert workers(tmp_path, "") == ()
    assert workers(tmp_path, "[node]\nworkers = 1") == ()


def test_a_worker_has_name_ports_directory_machine_and_memory_of_its_own(tmp_path: Path) -> None:
    text = """
    [node]
    name = "q1"
    dir = "data"
    port = 9000
    http_port = 9200
    peer_port = 9400
    workers = 4
    [storage]
    block_cache_bytes = 4000
    write_buffer_bytes = 400
    [audit]
    file = "log/audit.log"
    """
    [_, second, _, _] = found = workers(tmp_path, text)

    node = second.settings.node
    assert (second.name, node.port, node.http_port, node.peer_port) == ("q1.2", 9002, 9202, 9402)
    assert (node.dir, node.machine, second.client_port) == (Path("data/q1.2"), "q1", 9000)
    assert second.settings.storage.block_cache_bytes == 1000
    assert second.settings.storage.write_buffer_bytes == 100
    assert second.settings.audit.file == Path("log/audit-q1.2.log")
    # One machine founds the cluster of its workers.
    members = {each.name: each.settings.node.address for each in found}
    assert all(each.settings.cluster.initial_members == members for each in found)


def test_every_machine_derives_the_same_members(tmp_path: Path) -> None:
    def members(name: str) -> object:
        text = f"""
        [node]
        name = "{name}"
        workers = 2
        [cluster.initial_members]
        q1 = "10.0.0.1:7401"
        q2 = "[::2]:7401"
        """
        [first, _] = workers(tmp_path, text)
        return first.settings.cluster.initial_members

    assert members("q1") == members("q2")
    assert members("q1") == {
        "q1.1": "10.0.0.1:7402",
        "q1.2": "10.0.0.1:7403",
        "q2.1": "[::2]:7402",
        "q2.2": "[::2]:7403",
    }


def test_workers_of_a_machine_that_joins_name_whom_they_ask_as_they_are(tmp_path: Path) -> None:
    text = '[node]\nname = "q4"\nworkers = 2\n[cluster.join]\n"q1.1" = "10.0.0.1:7402"'
    [first, _] = workers(tmp_path, text)

    assert first.settings.cluster.join == {"q1.1": "10.0.0.1:7402"}
    assert not first.settings.cluster.initial_members


def test_auto_is_a_worker_for_each_core(tmp_path: Path) -> None:
    auto = '[node]\nworkers = "auto"'
    assert len(workers(tmp_path, auto, cores=5)) == 5
    assert len(workers(tmp_path, auto, cores=500)) == 64
    assert refused(tmp_path, auto, cores=1) == [
        "node.workers: auto finds one core that this process may use; leave workers out: one"
        " process uses it whole"
    ]


@pytest.mark.parametrize("number", ["0", "-1", "65", "true", '"two"', "1.5"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(ConfigError, match='a number of processes from 1 to 64, or "auto", not'):
        settings(tmp_path, f"[node]\nworkers = {number}")


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (
            "port = 65534",
            "node.port: the last of 2 workers would have the port 65536, beyond 65535; choose one"
            " up to 65533",
        ),
        (
            "port = 7401\nhttp_port = 7403",
            "node.http_port: with 2 workers it takes the ports 7403 to 7405, and port takes 7401"
            " to 7403; set http_port and port farther apart",
        ),
        (
            "port = 7401\npeer_port = 7400",
            "node.peer_port: with 2 workers it takes the ports 7400 to 7402, and port takes 7401"
            " to 7403; set peer_port and port farther apart",
        ),
    ],
)
def test_ports_that_clash_are_refused(tmp_path: Path, node: str, said: str) -> None:
    if "http_port" not in node:
        node += "\nhttp_port = 9000"
    assert refused(tmp_path, f"[node]\nworkers = 2\n{node}") == [said]


def test_machines_whose_workers_would_share_ports_are_refused(tmp_path: Path) -> None:
    text = """
    [node]
    name = "q1"
    workers = 2
    [cluster.initial_members]
    q1 = "10.0.0.1:7401"
    q2 = "10.0.0.1:7403"
    q3 = "10.0.0.2:7403"
    q4 = "10.0.0.4:65535"
    """
    assert refused(tmp_path, text) == [
        "cluster.initial_members.q2: with 2 workers q2 and q1 both have 10.0.0.1:7403; set their"
        " ports at least 3 apart",
        "cluster.initial_members.q4: the last of its 2 workers would have the port 65537; choose a"
        " port up to 65533",
    ]
