"""A module, a class and a constructor of the product stay as small as one reads at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.workspace import ROOT, distributions

MODULE_LINES = 600
CLASS_LINES = 500
CONSTRUCTOR_LINES = 100
CONSTRUCTOR_ARGUMENTS = 14


def too_large(source: str) -> Iterator[str]:
    """Yield what of a module is larger than it may be."""
    if (count := source.count("\n")) > MODULE_LINES:
        yield f"{count} lines"
    for each in ast.walk(ast.parse(source)):
        if not isinstance(each, ast.ClassDef):
            continue
        if (count := _lines(each)) > CLASS_LINES:
            yield f"{each.name} has {count} lines"
        for method in each.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                asked = method.args
                arguments = len([*asked.posonlyargs, *asked.args, *asked.kwonlyargs]) - 1
                if _lines(method) > CONSTRUCTOR_LINES or arguments > CONSTRUCTOR_ARGUMENTS:
                    yield f"{each.name}(...) has {_lines(method)} lines, {arguments} arguments"


def _lines(node: ast.ClassDef | ast.FunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


@pytest.mark.ci
def test_nothing_of_the_product_is_too_large() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {said}"
        for each in distributions()
        for path in sorted((each.source / "src").rglob("*.py"))
        if "_pb2" not in path.name
        for said in too_large(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_each_kind_of_size_is_seen() -> None:
    body = "        x = 1\n"
    asks = ", ".join(f"a{number}" for number in range(CONSTRUCTOR_ARGUMENTS + 1))
    assert list(too_large("x = 1\n" * (MODULE_LINES + 1))) == ["601 lines"]
    long = f"class A:\n    def f(self):\n{body * CLASS_LINES}"
    assert list(too_large(long)) == [f"A has {CLASS_LINES + 2} lines"]
    long = f"class A:\n    def __init__(self):\n{body * CONSTRUCTOR_LINES}"
    assert list(too_large(long)) == [f"A(...) has {CONSTRUCTOR_LINES + 1} lines, 0 arguments"]
    assert list(too_large(f"class A:\n    def __init__(self, {asks}):\n{body}")) == [
        f"A(...) has 2 lines, {CONSTRUCTOR_ARGUMENTS + 1} arguments"
    ]
