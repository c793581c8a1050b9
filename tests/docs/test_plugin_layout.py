"""The page of the plugins' source trees shows the trees that are there."""

from __future__ import annotations

from tests.support.pages import page
from tests.support.workspace import distributions

#: A module, or a folder.
EITHER = {"cli", "client"}


def test_the_page_shows_the_trees() -> None:
    text = page("explanation/plugin-layout")
    lines = [line.strip("|").split("|") for line in text.splitlines()]
    plugins = [each for each in distributions() if each.kind == "plugins"]
    head = lines.index([f" {each.folder.partition('/')[2]} " for each in plugins])
    for column, each in enumerate(plugins):
        shown = {name.strip("`/") for line in lines[head + 2 :] for name in line[column].split()}
        package = each.source / "src" / each.package
        assert [name for name in shown - EITHER if not (package / name).exists()] == []
        modules = {path.name for path in package.glob("[!_]*.py")}
        assert modules - shown <= {f"{name}.py" for name in EITHER}
