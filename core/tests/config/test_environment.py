from pathlib import Path

import pytest
from quorate.config import load
from quorate.config.settings import overrides, read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("true", True),
        ('"5"', "5"),
        ('["a", "b"]', ["a", "b"]),
        ("{ a = 1 }", {"a": 1}),
        ("word", "word"),
        ("two words", "two words"),
        ("127.0.0.1", "127.0.0.1"),
        ("/var/lib", "/var/lib"),
        ("", ""),
        ("1\nother = 2", "1\nother = 2"),
    ],
)
def test_values_are_toml_or_else_words(text: str, value: object) -> None:
    assert read_value(text) == value


def test_other_variables_are_left_alone() -> None:
    assert overrides({"QUORATE_ENDPOINTS": "x", "HOME": "/", "QUORATE": "1"}) == ([], [])


@pytest.mark.parametrize(
    "variable", ["QUORATE__NODE", "QUORATE__", "QUORATE__NODE__", "QUORATE__node__port"]
)
def test_misshapen_names_are_problems(variable: str) -> None:
    found, problems = overrides({variable: "1"})
    assert found == []
    assert [problem.variable for problem in problems] == [variable]
    assert str(problems[0]).startswith(f"{variable}: is not the name of a setting; ")


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "quorate.toml"
    file.write_text('[node]\nport = 1000\nname = "a"\n')
    settings = load(file, {}, {"QUORATE__NODE__PORT": "2000"})
    assert (settings.node.port, settings.node.http_port, settings.node.name) == (2000, 2100, "a")


def test_tables_are_reached_by_name_or_as_a_whole() -> None:
    environ = {
        "QUORATE__CLUSTER__INITIAL_MEMBERS__Q1": "127.0.0.1:7401",
        "QUORATE__GROUPS__OFFSET__SHARDS": "4",
        "QUORATE__GROUPS__MQTT": "{ shards = 2 }",
    }
    settings = load(None, {}, environ)
    assert settings.cluster.initial_members == {"q1": "127.0.0.1:7401"}
    assert {name: group.shards for name, group in settings.groups.items()} == {
        "offset": 4,
        "mqtt": 2,
    }
