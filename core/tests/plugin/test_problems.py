from __future__ import annotations

import pytest
from quorate.plugin.problems import PluginErrors, PluginProblem


def made(plugin: str) -> PluginProblem:
    return PluginProblem(plugin, f"acme-{plugin}", "1.0", "it is wrong", "make it right")


def test_a_problem_says_whose_it_is_what_it_is_and_what_to_do() -> None:
    problem = made("greeting")
    assert str(problem) == "greeting (acme-greeting 1.0): it is wrong; make it right"
    assert (problem.plugin, problem.distribution, problem.version) == (
        "greeting",
        "acme-greeting",
        "1.0",
    )
    assert (problem.what, problem.fix) == ("it is wrong", "make it right")


@pytest.mark.parametrize(
    ("count", "text"), [(1, "1 plugin problem found"), (3, "3 plugin problems found")]
)
def test_the_group_counts_its_problems(count: int, text: str) -> None:
    errors = PluginErrors([made("a")] * count)
    assert errors.message == text
    assert len(errors.exceptions) == count


def test_the_group_can_be_split_and_stays_what_it_is() -> None:
    errors = PluginErrors([made("a"), made("b")])
    mine, rest = errors.split(lambda each: isinstance(each, PluginProblem) and each.plugin == "a")
    assert isinstance(mine, PluginErrors)
    assert isinstance(rest, PluginErrors)
    assert [str(each) for each in mine.exceptions] == [str(made("a"))]
    assert rest.message == "1 plugin problem found"


def test_the_group_is_caught_by_except_star() -> None:
    caught: list[BaseException] = []
    try:
        raise PluginErrors([made("a"), made("b")])
    except* PluginProblem as group:
        caught.extend(group.exceptions)
    assert [str(each) for each in caught] == [str(made("a")), str(made("b"))]
