"""Writes code of tested files into the pages that show it: `python docs/include_code.py`.

A page names the piece in a comment, and has the code below it, so that it can be read anywhere:

    <!-- code ../../examples/greeting/src/quorate_greeting/families.py
    :pyobject: greeting_key
    -->
    ```python
    (written by this script)
    ```
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent

#: A comment with a path and options, and the fenced block behind it, if it is there already.
BLOCK: Final = re.compile(
    r"^<!-- code (?P<path>\S+)\n(?P<options>(?::.+\n)*)-->\n"
    r"(?P<fence>(?P<ticks>`{3,})\w*\n(?:.*\n)*?(?P=ticks)\n)?",
    re.M,
)
_OPTION: Final = re.compile(r"^:(?P<name>[a-z-]+): ?(?P<value>.*)$", re.M)
_LANGUAGES: Final = {
    ".go": "go",
    ".java": "java",
    ".proto": "protobuf",
    ".py": "python",
    ".sh": "sh",
    ".toml": "toml",
    ".xml": "xml",
    ".yml": "yaml",
}


def options_of(block: re.Match[str]) -> dict[str, str]:
    """Return the options of a block by their names."""
    return {each["name"]: each["value"] for each in _OPTION.finditer(block["options"])}


def pages() -> Iterator[Path]:
    """Yield every page of the documentation."""
    yield from sorted(DOCS.rglob("*.md"))


def rendered(page: Path) -> str:
    """Return a page as it ought to be."""

    def written(block: re.Match[str]) -> str:
        return shown(page, block["path"], options_of(block))

    return BLOCK.sub(written, page.read_text(encoding="utf-8"))


def shown(page: Path, path: str, options: Mapping[str, str]) -> str:
    """Return the comment and the code of one piece."""
    file = (page.parent / path).resolve()
    code = piece(file, options)
    fence = "````" if "```" in code else "```"
    named = "".join(f":{name}: {value}\n" for name, value in options.items())
    language = _LANGUAGES.get(file.suffix, "text")
    return f"<!-- code {path}\n{named}-->\n{fence}{language}\n{code}\n{fence}\n"


def piece(file: Path, options: Mapping[str, str]) -> str:
    """Return what the options cut out of a file: an object, or what lies between two lines."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    begin, end = 0, len(lines)
    if name := options.get("pyobject"):
        [found] = [node for path, node in objects_of(ast.parse(text).body) if path == name]
        begin = min([found.lineno, *(each.lineno for each in found.decorator_list)]) - 1
        end = found.end_lineno or end
    if marker := options.get("start-at"):
        begin = _line(lines, marker, begin)
    if marker := options.get("start-after"):
        begin = _line(lines, marker, begin) + 1
    if marker := options.get("end-at"):
        end = _line(lines, marker, begin) + 1
    if marker := options.get("end-before"):
        end = _line(lines, marker, begin + 1)
    return "\n".join(lines[begin:end]).strip("\n")


def objects_of(
    body: list[ast.stmt], path: str = ""
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the classes, functions and methods of a module with their names."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield path + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from objects_of(node.body, f"{path}{node.name}.")


def _line(lines: list[str], marker: str, begin: int) -> int:
    return next(number for number in range(begin, len(lines)) if marker in lines[number])


if __name__ == "__main__":
    for each in pages():
        each.write_text(rendered(each), encoding="utf-8")
