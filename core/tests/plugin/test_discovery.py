from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest
from quorate.plugin.discovery import RESERVED_NAMES, Plugin, discover, installed
from quorate.plugin.problems import PluginProblem

if TYPE_CHECKING:
    from core.tests.plugin.conftest import Site


def only(plugins: tuple[Plugin, ...]) -> Plugin:
    assert len(plugins) == 1
    return plugins[0]


def problem(plugins: tuple[Plugin, ...]) -> PluginProblem:
    """The one problem of the one plugin, which is not usable."""
    plugin = only(plugins)
    assert plugin.module is None
    assert len(plugin.problems) == 1
    return plugin.problems[0]


def test_a_plugin_is_found_with_its_distribution_and_version(site: Site) -> None:
    site.source("good_plugin", "GREETING = 'hello'\n")
    site.distribution("acme-good", {"good": "good_plugin"}, version="2.0rc1")
    plugin = only(site.plugins())
    assert (plugin.name, plugin.distribution, plugin.version) == ("good", "acme-good", "2.0rc1")
    assert plugin.module is sys.modules["good_plugin"]
    assert plugin.problems == ()


def test_plugins_come_in_the_order_of_their_names(site: Site) -> None:
    names = ["melon", "apple", "zebra", "apple_2", "banana"]
    for name in names:
        site.add(name)
    points = site.entry_points()
    for order in (points, points[::-1]):
        found = discover(order, core_version="0.1.0")
        assert [plugin.name for plugin in found] == sorted(names)


def test_nothing_installed_is_no_plugin(site: Site) -> None:
    assert site.plugins() == ()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError: No module named"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (:", "SyntaxError: "),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise RecursionError('deep')", "RecursionError: deep"),
    ],
)
def test_a_plugin_whose_import_fails_is_a_problem(site: Site, source: str, error: str) -> None:
    site.source("broken_plugin", source)
    site.distribution("acme-broken", {"broken": "broken_plugin"})
    found = problem(site.plugins())
    assert str(found).startswith("broken (acme-broken 1.2.3): ")
    assert found.what.startswith(f"importing broken_plugin raised {error}")
    assert found.where == f"{site.folder}/broken_plugin.py:1"
    assert found.fix == "repair the import"
    assert type(found.__cause__).__name__ == error.partition(":")[0]


def test_an_interrupt_is_no_problem_of_a_plugin(site: Site) -> None:
    site.source("slow_plugin", "raise KeyboardInterrupt")
    site.distribution("acme-slow", {"slow": "slow_plugin"})
    with pytest.raises(KeyboardInterrupt):
        site.plugins()


@pytest.mark.parametrize("value", ["missing_plugin", "half_plugin:nothing"])
def test_an_entry_point_that_names_nothing_is_a_problem(site: Site, value: str) -> None:
    site.source("half_plugin", "")
    site.distribution("acme-half", {"half": value})
    assert f"half (acme-half 1.2.3): importing {value} raised " in str(problem(site.plugins()))


def test_an_entry_point_that_names_no_module_is_a_problem(site: Site) -> None:
    site.source("odd_plugin", "class Plugin: ...\n")
    site.distribution("acme-odd", {"odd": "odd_plugin:Plugin"})
    assert str(problem(site.plugins())) == (
        "odd (acme-odd 1.2.3): the entry point odd_plugin:Plugin is a type and no module; "
        "let it name the module that holds the hooks: odd = 'odd_plugin'"
    )


def test_two_distributions_under_one_name_are_both_named(site: Site) -> None:
    site.source("twin_plugin", "raise AssertionError('neither of two may be imported')")
    site.distribution("acme-twin", {"twin": "twin_plugin"}, version="1.0")
    site.distribution("other-twin", {"twin": "twin_plugin"}, version="2.0")
    assert str(problem(site.plugins())) == (
        "twin (acme-twin 1.0): the name is claimed by acme-twin 1.0 and other-twin 2.0; "
        "uninstall all but one of the distributions"
    )


@pytest.mark.parametrize("name", [*sorted(RESERVED_NAMES), "Big", "with-dash", "9lives", "a.b"])
def test_a_name_that_cannot_name_a_plugin_is_a_problem(site: Site, name: str) -> None:
    site.source("named_plugin", "raise AssertionError('not imported')")
    site.distribution("acme-named", {name: "named_plugin"})
    assert str(problem(site.plugins())) == (
        f"{name} (acme-named 1.2.3): the entry point's name '{name}' cannot name a plugin; "
        "use small letters, digits and _, and none of core, enabled, raft, retired"
    )


@pytest.mark.parametrize(
    "requirement", ["quorate>=0.2,<0.3", "Quorate<0.1", "quorate[testing]==0.1.1", "quorate!=0.1.0"]
)
def test_a_plugin_made_for_another_core_is_not_imported(site: Site, requirement: str) -> None:
    site.source("old_plugin", "raise AssertionError('not imported')")
    site.distribution("acme-old", {"old": "old_plugin"}, requires=["click", requirement])
    found = str(problem(site.plugins()))
    assert found.startswith("old (acme-old 1.2.3): it needs quorate ")
    assert found.endswith(
        ", and this is quorate 0.1.0; install a release of acme-old made for quorate 0.1.0"
    )


@pytest.mark.parametrize(
    "requirement",
    [
        "quorate",
        "quorate>=0.1,<0.2",
        "quorate-mqtt>=7",
        'quorate>=7; python_version < "3"',
        'quorate[testing]>=7; extra == "testing"',
    ],
)
def test_a_requirement_that_this_core_meets_is_no_problem(site: Site, requirement: str) -> None:
    site.add("fine", requires=[requirement])
    assert only(site.plugins()).problems == ()


def test_a_core_before_its_release_meets_an_open_range(site: Site) -> None:
    site.add("fine", requires=["quorate>=0.1"])
    assert only(discover(site.entry_points(), core_version="0.2.0rc1")).problems == ()


def test_a_requirement_that_cannot_be_read_is_a_problem(site: Site) -> None:
    site.add("torn", requires=["quorate=>0.1"])
    assert str(problem(site.plugins())) == (
        "torn (acme-torn 1.2.3): its metadata requires 'quorate=>0.1', which is no requirement; "
        "reinstall acme-torn"
    )


def test_metadata_without_a_name_is_survived(site: Site) -> None:
    for name in ("left", "right"):
        site.add(name)
    for metadata in site.folder.glob("acme_*/METADATA"):
        metadata.unlink()
    assert [plugin.distribution for plugin in site.plugins()] == ["unknown", "unknown"]


def test_a_name_that_two_damaged_distributions_claim_is_a_problem(site: Site) -> None:
    site.add("torn")
    site.distribution("other-torn", {"torn": "in_memory_torn"})
    next(site.folder.glob("other_*/METADATA")).unlink()
    assert "claimed by acme-torn 1.2.3 and unknown unknown" in str(problem(site.plugins()))


def test_the_environment_is_where_installed_looks(site: Site) -> None:
    site.add("here", requires=["quorate"])
    assert "here" in [plugin.name for plugin in installed()]


def test_an_entry_point_without_a_distribution_is_a_plugin_of_an_unknown_one(site: Site) -> None:
    site.module("in_memory_loose", {})
    point = EntryPoint(name="loose", value="in_memory_loose", group="quorate")
    plugin = only(discover([point], core_version="0.1.0"))
    assert (plugin.distribution, plugin.version) == ("unknown", "unknown")
    assert plugin.module is sys.modules["in_memory_loose"]


def test_a_client_does_not_import_what_only_discovery_needs() -> None:
    program = (
        "import sys, quorate.client;"
        "print([name for name in sys.modules if name.partition('.')[0] == 'packaging'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
