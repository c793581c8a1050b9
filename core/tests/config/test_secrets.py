"""Secrets come from files of their own, and go nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from quorate.config import render, schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from core.tests.config.conftest import Greeting, Loading, Refusing


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("open sesame\n")
    return file


def test_a_file_holds_the_secret(loading: Loading, secret: Path) -> None:
    settings = loading(
        f"""
        [cluster]
        token = {{ file = "{secret}" }}
        [plugins.greeting]
        password = {{ file = "{secret}" }}
        """
    )
    assert settings.cluster.token.get_secret_value() == "open sesame"
    greeting = cast("Greeting", settings.plugin_sections["greeting"])
    assert greeting.password is not None
    assert greeting.password.get_secret_value() == "open sesame"
    assert "sesame" not in render(settings)
    assert settings.secrets() == ["open sesame", "open sesame"]


@pytest.mark.parametrize("text", ["", '[cluster]\ntoken = "another"\n'])
def test_a_variable_names_the_file(loading: Loading, secret: Path, text: str) -> None:
    settings = loading(text, QUORATE__CLUSTER__TOKEN__FILE=str(secret))
    assert settings.cluster.token.get_secret_value() == "open sesame"


def test_the_token_that_everybody_knows_is_no_secret(loading: Loading) -> None:
    assert loading("").secrets() == []
    assert loading("[cluster]\ntoken = 'abc'\n").secrets() == []
    assert loading("[cluster]\ntoken = 'abcd'\n").secrets() == ["abcd"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "the secret cannot be read: no such file or directory"),
        (b"\n", "is empty"),
        (b"\xff", "can't decode byte"),
        (b"s" * 70_000, "has more than 65536 bytes"),
    ],
)
def test_a_file_that_holds_none_is_a_problem_of_its_line(
    refusing: Refusing, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "none"
    if content is not None:
        file.write_bytes(content)
    [problem] = refusing(f'[cluster]\ntoken = {{ file = "{file}" }}\n')
    assert (problem.line, problem.key) == (2, "cluster.token.file")
    assert said in problem.what


def test_other_tables_are_no_secrets(refusing: Refusing) -> None:
    [problem] = refusing('[cluster]\ntoken = { path = "hush" }\n')
    assert problem.key == "cluster.token"
    assert "hush" not in str(problem)
    [problem] = refusing("[cluster]\ntoken = { file = 5 }\n")
    assert "must be named by a string" in problem.what


def test_what_is_no_secret_is_in_no_file(refusing: Refusing, secret: Path) -> None:
    [problem] = refusing(f'[node]\nname = {{ file = "{secret}" }}\n')
    assert problem.key == "node.name"
    assert "sesame" not in str(problem)


def test_the_schema_lets_a_file_stand_for_a_secret(
    sections: Mapping[str, type[BaseModel] | None],
) -> None:
    found = schema(sections)["$defs"]
    text, file = found["ClusterSection"]["properties"]["token"]["anyOf"]
    assert text["format"] == "password"
    assert file["required"] == ["file"]
