"""The locked versions are what core asks for, and every file of them has its hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = (ROOT / "requirements" / "locked.txt").read_text()


def entries() -> dict[str, tuple[Requirement, list[str]]]:
    """Return each locked requirement with its hashes, by its name."""
    found: dict[str, tuple[Requirement, list[str]]] = {}
    for text in LOCKED.replace("\\\n", "").splitlines():
        if text and not text.lstrip().startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=", text)
            parsed = Requirement(requirement)
            found[canonicalize_name(parsed.name)] = parsed, hashes
    return found


def test_every_file_is_known_by_its_hash() -> None:
    for name, (requirement, hashes) in entries().items():
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), name
        assert hashes, name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each.strip()) for each in hashes), name


def test_what_core_asks_for_is_locked_in_a_version_that_it_takes() -> None:
    project = tomllib.loads((ROOT / "core" / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    locked = entries()
    for text in asked:
        wanted = Requirement(text)
        found, _ = locked[canonicalize_name(wanted.name)]
        [version] = [each.version for each in found.specifier]
        assert wanted.specifier.contains(version), f"{text}: {version} is locked; run tox -e lock"
