from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.dev import free_port, running

if TYPE_CHECKING:
    from tests.packaging.conftest import Distribution, Environment

pytestmark = pytest.mark.ci

SERVER_ONLY = ("rocksdict", "pysyncobj", "grpc_tools", "pytest", "uvloop")


def test_the_base_install_runs_the_cli(
    environment: Callable[[], Environment], distributions: dict[str, Distribution]
) -> None:
    base = environment()
    base.install()

    assert distributions["quorate"].version in base.run("quorate", "--version")
    json.loads(base.run("quorate", "plugin", "list", "--output", "json"))
    assert [module for module in SERVER_ONLY if base.finds(module)] == []


def test_a_plugin_installs_alone_and_leaves_no_trace(
    environment: Callable[[], Environment], distributions: dict[str, Distribution]
) -> None:
    alone = environment()
    alone.install()
    before = installed(alone)
    for name, distribution in distributions.items():
        if name == "quorate" or distribution.source.parent.name == "integrations":
            continue
        alone.install(str(distribution.wheel))

        listed = {p["name"]: p for p in plugins(alone)}
        plugin = name.removeprefix("quorate-").replace("-", "_")
        assert listed[plugin]["version"] == distribution.version
        assert [module for module in SERVER_ONLY if alone.finds(module)] == []

        alone.uninstall(name)
        assert plugin not in {p["name"] for p in plugins(alone)}
        # What it stands on goes too, so that the next one comes to the base alone.
        alone.uninstall(*(installed(alone) - before))
        assert installed(alone) == before


def test_nodes_of_the_wheels_take_writes(
    environment: Callable[[], Environment], distributions: dict[str, Distribution]
) -> None:
    nodes = environment()
    plugins = [each.wheel for name, each in distributions.items() if name != "quorate"]
    nodes.install(*map(str, plugins), extra="server")
    quorate, port = nodes.program("quorate"), free_port()
    asked = ("--endpoints", f"127.0.0.1:{port}")

    with running(f"{quorate} dev --port {port}", nodes.directory):
        nodes.run("quorate", *asked, "kv", "put", "a", "1")
        assert nodes.run("quorate", *asked, "kv", "get", "a") == "1"


def installed(environment: Environment) -> set[str]:
    """Return the names of the distributions that are there."""
    code = "from importlib.metadata import distributions as d; print(*(each.name for each in d()))"
    return set(environment.run("python", "-c", code).split())


def plugins(environment: Environment) -> list[dict[str, object]]:
    listed = json.loads(environment.run("quorate", "plugin", "list", "--output", "json"))
    assert isinstance(listed, list)
    return listed
