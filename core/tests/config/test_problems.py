from quorate.config import ConfigError, ConfigProblem


def test_a_problem_is_one_line() -> None:
    problem = ConfigProblem(file="q.toml", line=12, key="a.b", what="is wrong", fix="mend it")
    assert str(problem) == "q.toml:12: a.b: is wrong; mend it"
    assert str(ConfigProblem(what="is wrong", fix="mend it")) == (
        "configuration: is wrong; mend it"
    )


def test_problems_stand_in_the_order_of_the_file_then_of_the_variables() -> None:
    late = ConfigProblem(file="f", line=9, key="a", what="x", fix="y")
    early = ConfigProblem(file="f", line=2, key="z", what="x", fix="y")
    variable = ConfigProblem(variable="QUORATE__A__B", key="a.b", what="x", fix="y")
    error = ConfigError([variable, late, early])
    assert error.problems == (early, late, variable)
    assert str(error).splitlines() == ["f:2: z: x; y", "f:9: a: x; y", "QUORATE__A__B: a.b: x; y"]
