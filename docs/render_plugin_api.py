"""Renders the reference of `quorate.plugin` from its source.

Every public name is there: what it is, its fields or methods, and one use of it out of tested
code, if there is one.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import quorate.plugin
import quorate.plugin.advanced
from include_code import objects_of
from quorate.plugin import keys

DOCS: Final = Path(__file__).parent
ROOT: Final = DOCS.parent

#: Where uses are looked for, in this order.
EXAMPLES: Final = (
    "examples/greeting/src",
    "examples/connector_type/src",
    "plugins/*/src",
    "tests/support/connector",
    "tests/support/storage_engine",
    "core/src/quorate/builtin",
    "core/src/quorate/plugin",
)
#: A longer use shows less.
MOST_LINES: Final = 14

#: The headings, and the modules whose names stand below them.
PARTS: Final = (
    ("What a plugin declares", ("declarations", "fences", "hookspecs", "markers")),
    (
        "Resources",
        ("resource/declaration", "resource/handlers", "resource/tenants"),
    ),
    ("Who may do what", ("access",)),
    ("What handlers and queries hold", ("transaction",)),
    ("What servicers and controllers hold", ("node", "complaints")),
    ("Ports of a plugin's own", ("ports", "../http1/messages")),
    ("How to refuse", ("outcomes",)),
    (
        "Helpers for batches and updates",
        ("batches", "columns", "gathering", "invalid_items", "updates"),
    ),
    ("How services are bound and called", ("services", "../http2/grpc/context")),
    ("What commands of the command line hold", ("console",)),
)

_COMMENT: Final = re.compile(r"^\s*#: ?(.*)$")


def render() -> str:
    """Return the entries of all public names."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_reference()))


def _reference() -> Iterator[str]:
    public = {*quorate.plugin.__all__, *quorate.plugin.advanced.__all__} - {"keys"}
    for title, modules in PARTS:
        yield f"\n## {title}"
        for module in modules:
            source = Path(str(quorate.plugin.__path__[0]), f"{module}.py").read_text("utf-8")
            for name, node in _defined(source):
                if name in public:
                    public.remove(name)
                    yield from _entry(name, node, source)
    if public:
        raise SystemExit(f"no part of the page takes {', '.join(sorted(public))}: see PARTS")
    yield from _module(keys)


def _defined(source: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a module defines, in its order."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name, node
            case ast.AsyncFunctionDef(name=name):
                yield name, node
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name, node


def _entry(name: str, node: ast.stmt, source: str) -> Iterator[str]:
    yield f"\n### `{name}`\n"
    match node:
        case ast.ClassDef():
            yield _doc(node, name)
            yield from _fields(node, source)
            yield from _methods(node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _fenced(_signature(node))
            yield _doc(node, name)
        case _:
            yield _fenced(ast.unparse(node))
            yield _comment_above(source.splitlines(), node.lineno) or _explained(name)
            return
    if use := _use(name):
        yield f"\n{_fenced(use)}"


def _fields(node: ast.ClassDef, source: str) -> Iterator[str]:
    lines, missing = source.splitlines(), list[str]()
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    if not fields:
        return
    yield "\n| field | type | meaning |\n|---|---|---|"
    for each in fields:
        kind = ast.unparse(each.annotation).replace("|", "\\|")
        meaning = _comment_above(lines, each.lineno)
        if not meaning:
            missing.append(f"{node.name}.{ast.unparse(each.target)}")
        if each.value is not None:
            meaning += f" Default: `{ast.unparse(each.value)}`."
        yield f"| `{ast.unparse(each.target)}` | `{kind}` | {meaning} |"
    if missing:
        raise SystemExit(f"without a comment that begins with #: are {', '.join(missing)}")


def _methods(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name[0] != "_":
            yield f"\n{_fenced(_signature(each))}"
            yield _doc(each, f"{node.name}.{each.name}")


def _module(module: ModuleType) -> Iterator[str]:
    name = module.__name__.rpartition(".")[2]
    yield f"\n## `{name}`: {inspect.getdoc(module)}"
    for function, node in _defined(inspect.getsource(module)):
        if isinstance(node, ast.FunctionDef) and function[0] != "_":
            yield f"\n### `{name}.{function}`\n"
            yield _fenced(_signature(node))
            yield _doc(node, f"{name}.{function}")
            if use := _use(function, f"{name}."):
                yield f"\n{_fenced(use)}"


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function without its body, a property as one; `self` says nothing."""
    bare = type(node)(**{**dict(ast.iter_fields(node)), "body": [ast.Expr(ast.Constant(...))]})
    bare.args.args = [each for each in node.args.args if each.arg != "self"]
    text = ast.unparse(ast.fix_missing_locations(bare))
    return text.replace(":\n    ...", "").replace("\n...", "")


def _doc(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise SystemExit(f"{name} has no docstring")
    return text


def _explained(name: str) -> str:
    raise SystemExit(f"{name} is explained by no comment above it: write one that begins with #:")


def _comment_above(lines: list[str], number: int) -> str:
    """The comment of a definition: the lines above it that begin with `#:`."""
    said: list[str] = []
    for line in reversed(lines[: number - 1]):
        found = _COMMENT.match(line)
        if found is None:
            break
        said.insert(0, found[1])
    return " ".join(said)


@cache
def _files() -> tuple[tuple[str, ast.Module], ...]:
    paths = [
        path
        for each in EXAMPLES
        for folder in sorted(ROOT.glob(each))
        for path in sorted(folder.rglob("*.py"))
        if not path.stem.endswith(("_pb2", "_pb2_grpc"))
    ]
    return tuple((text := path.read_text("utf-8"), ast.parse(text)) for path in paths)


def _use(name: str, within: str = "") -> str:
    """The first use that is short: a call, else a function that takes one, else a mention."""
    for wanted in (_calls, _takers, _mentions):
        for text, tree in _files():
            if name not in text or not _imports(tree, (within or name).rstrip(".")):
                continue
            for node in wanted(tree, f"{within}{name}"):
                first, _, rest = (ast.get_source_segment(text, node) or "").partition("\n")
                use = f"{first}\n{textwrap.dedent(rest)}".rstrip()
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    use = inspect.cleandoc(
                        "\n" + (ast.get_source_segment(text, node, padded=True) or "")
                    )
                if use.count("\n") < MOST_LINES:
                    return use
    return ""


def _imports(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("quorate.plugin")
        and any(each.name == name for each in node.names)
        for node in ast.walk(tree)
    )


def _calls(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """Statements with a call, or a raise, of a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(
            node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.For | ast.Try
        ):
            for below in ast.walk(node):
                if isinstance(below, ast.Call) and ast.unparse(below.func) == name:
                    whole = isinstance(node, ast.Raise) or len(ast.unparse(node)) < 200
                    yield node if whole else below
                    break


def _takers(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """Functions with an argument or an answer of that type, or with that decorator."""
    wanted = re.compile(rf"\b{re.escape(name)}\b")
    for _, node in objects_of(tree.body):
        if isinstance(node, ast.ClassDef):
            continue
        kinds = [each.annotation for each in (*node.args.args, *node.args.kwonlyargs)]
        for kind in (*kinds, node.returns, *node.decorator_list):
            if kind is not None and wanted.search(ast.unparse(kind)):
                yield node
                break


def _mentions(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """Calls that hand a name on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(ast.unparse(e.value) == name for e in node.keywords):
            yield node


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```\n"
