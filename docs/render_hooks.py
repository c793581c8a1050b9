"""Renders the reference of the hooks from their specifications."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from include_code import shown
from quorate.plugin import hookspecs

DOCS: Final = Path(__file__).parent
PAGE: Final = DOCS / "reference" / "hooks.md"
EXAMPLE: Final = DOCS.parent / "examples" / "greeting" / "src" / "quorate_greeting" / "plugin.py"


def render() -> str:
    """Return the sections of the hooks."""
    return "\n".join(_reference())


def _reference() -> Iterator[str]:
    source = inspect.getsource(hookspecs)
    implemented = {node.name for node in _functions(EXAMPLE.read_text())}
    for hook in _functions(source):
        yield from _entry(hook, hook.name in implemented)


def _entry(hook: ast.FunctionDef, with_example: bool) -> Iterator[str]:
    names = ", ".join(argument.arg for argument in hook.args.args)
    assert hook.returns is not None
    yield f"\n## `{hook.name}({names})`\n"
    yield "```python"
    yield f"def {hook.name}({ast.unparse(hook.args)}) -> {ast.unparse(hook.returns)}"
    yield "```\n"
    yield inspect.cleandoc(ast.get_docstring(hook) or "")
    if with_example:
        code = shown(PAGE, _relative(EXAMPLE), {"pyobject": hook.name})
        yield f"\n{code.rstrip()}"


def _relative(path: Path) -> str:
    return f"../../{path.relative_to(DOCS.parent).as_posix()}"


def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
