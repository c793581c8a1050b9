import tomllib

import pytest
from hypothesis import given, strategies as st
from quorate.config.positions import lines

DOCUMENTS: dict[str, tuple[str, dict[tuple[str | int, ...], int]]] = {
    "tables": (
        "# first\n\n[a]\nx = 1 # [b]\n\n# between\n[b]\ny = 2",
        {("a",): 3, ("a", "x"): 4, ("b",): 7, ("b", "y"): 8},
    ),
    "dotted keys": (
        '[t]\na.b = 1\nx = 2\na . "c.d" = 3\n',
        {("t",): 1, ("t", "a"): 2, ("t", "a", "b"): 2, ("t", "x"): 3, ("t", "a", "c.d"): 4},
    ),
    "dotted key that holds its value": ("[t]\na1.b = 1\nc = 2\n", {("t", "c"): 3}),
    "values of many lines": (
        '[t]\na = """\n[x]\n"""\nb = [ # [9]\n  1, # 2\n  [2,\n   3],\n]\nc = 1\n',
        {("t", "b"): 5, ("t", "b", 0): 6, ("t", "b", 1): 7, ("t", "b", 1, 1): 8, ("t", "c"): 10},
    ),
    "inline tables": (
        "[t]\na = { b = [\n1,\n2 ], c.d = 3, e = { f = 1 } }\ng = 1\n",
        {
            ("t", "a", "b"): 2,
            ("t", "a", "b", 1): 4,
            ("t", "a", "c", "d"): 4,
            ("t", "a", "e", "f"): 4,
            ("t", "g"): 5,
        },
    ),
    "arrays of tables": (
        "[[p.q]]\nx = 1\n[p.q.s]\ny = 1\n[[p.q]]\n\nx = 2\n[z]\n[[p.r]]\nx = 3\n",
        {
            ("p",): 1,
            ("p", "q"): 1,
            ("p", "q", 0): 1,
            ("p", "q", 0, "s"): 3,
            ("p", "q", 0, "s", "y"): 4,
            ("p", "q", 1): 5,
            ("p", "q", 1, "x"): 7,
            ("p", "r", 0, "x"): 10,
        },
    ),
    "array of tables that goes on later": (
        "[[p.q]]\nx = 1\n[z]\n[[p.q]]\nx = 2\n",
        {("p", "q", 0, "x"): 2, ("p", "q", 1): 4, ("p", "q", 1, "x"): 5},
    ),
    "tables out of order": (
        "[a.b]\nx = 1\n[c]\ny = 1\n[a]\nz = 1\n[a.d]\nw = 1\n",
        {("a", "b"): 1, ("a", "b", "x"): 2, ("c",): 3, ("a",): 5, ("a", "z"): 6, ("a", "d"): 7},
    ),
    "windows line ends": ("[a]\r\nx = 1\r\n\r\n[b]\r\ny = 2\r\n", {("b",): 4, ("b", "y"): 5}),
    "not TOML": ("[a\n", {}),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_lines(name: str) -> None:
    text, expected = DOCUMENTS[name]
    found = lines(text)
    assert {path: found.get(path) for path in expected} == expected
    if not expected:
        assert found == {}


VALUES = st.sampled_from(
    [
        "1",
        "'a = 1'",
        '"""\n[x]\n"""',
        "[1, # 2\n 2]",
        "{ a = 1, b.c = [\n] }",
        "[\n{ x = 1 },\n]",
        "2024-01-01",
    ]
)
GAPS = st.sampled_from(["", "\n", "# x = 1\n", "\n  # [t0]\n\n"])


@given(st.lists(st.tuples(GAPS, st.integers(0, 4), st.booleans(), GAPS, VALUES), max_size=12))
def test_each_marked_line_begins_its_key(
    entries: list[tuple[str, int, bool, str, str]],
) -> None:
    text = ""
    expected: dict[tuple[str | int, ...], int] = {}
    for number, (before, prefix, is_dotted, between, value) in enumerate(entries):
        text += f"{before}[t{prefix}.s{number}]\n{between}"
        expected[f"t{prefix}", f"s{number}"] = text[: text.rindex(f"[t{prefix}.s")].count("\n") + 1
        line = text.count("\n") + 1
        text += f"{'k1.' if is_dotted else ''}k = {value}\n"
        path = ("k1", "k") if is_dotted else ("k",)
        expected[f"t{prefix}", f"s{number}", *path] = line
    tomllib.loads(text)
    found = lines(text)
    assert {path: found.get(path) for path in expected} == expected
