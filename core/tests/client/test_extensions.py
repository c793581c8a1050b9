"""Extensions of the client: found by their entry points, imported on first use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from quorate.client import AsyncClient, Client, InvalidError, extensions
from quorate.client.extensions import GROUP, Extension, extension

Install = Callable[[str, str], None]

PARCEL = """
from quorate.client.extensions import Extension

EXTENSION = Extension(asynchronous=lambda q: ("async", q), synchronous=lambda q: ("sync", q))
"""


@pytest.fixture(autouse=True)
def uncached() -> Iterator[None]:
    """Forget the extensions of other tests, and let them forget those of this one."""
    extension.cache_clear()
    yield
    extension.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution that offers `parcel`: its name, and the text of its module."""
    modules: list[str] = []

    def install(distribution: str, text: str) -> None:
        module = distribution.replace("-", "_")
        modules.append(module)
        (tmp_path / f"{module}.py").write_text(text)
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nparcel = {module}:EXTENSION\n")

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    for module in modules:
        sys.modules.pop(module, None)


def test_an_extension_is_imported_when_it_is_used(install: Install) -> None:
    install("acme-parcel", PARCEL)
    assert "acme_parcel" not in sys.modules
    found = extension("parcel")
    assert isinstance(found, Extension)
    with Client("127.0.0.1:1") as q:
        assert found.synchronous(q) == ("sync", q)
        assert found.asynchronous(q.asynchronous) == ("async", q.asynchronous)
    assert extension("parcel") is found


def test_a_distribution_that_is_on_the_path_twice_counts_once(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-parcel", PARCEL)
    monkeypatch.syspath_prepend(str(tmp_path) + "/.")
    assert isinstance(extension("parcel"), Extension)


def test_without_a_distribution_the_error_names_the_one_to_install() -> None:
    with pytest.raises(InvalidError, match=r"parcel_post: .*pip install .*quorate-parcel-post$"):
        extension("parcel_post")


def test_two_distributions_cannot_offer_the_same(install: Install) -> None:
    install("acme-parcel", PARCEL)
    install("other-parcel", PARCEL)
    with pytest.raises(InvalidError, match=r"acme-parcel and other-parcel: uninstall all but one"):
        extension("parcel")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_module\n", "cannot import .*no_such_module.*: reinstall acme-parcel"),
        ("", "cannot import .*EXTENSION.*: reinstall acme-parcel"),
        (
            "EXTENSION = 7\n",
            "is of type int, not an Extension: install another release of acme-parcel",
        ),
    ],
)
def test_a_broken_extension_names_its_distribution(install: Install, text: str, error: str) -> None:
    install("acme-parcel", text)
    with pytest.raises(InvalidError, match=error):
        extension("parcel")


async def test_locks_of_a_client_need_their_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "entry_points", lambda **_: EntryPoints(()))
    missing = r"coordination: .*pip install --upgrade quorate-coordination"
    async with AsyncClient("127.0.0.1:1") as q:
        for use in (q.lock, q.election, q.lease):
            with pytest.raises(InvalidError, match=missing):
                use("jobs")


def test_locks_of_a_client_without_await_need_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "entry_points", lambda **_: EntryPoints(()))
    with Client("127.0.0.1:1") as q:
        for use in (q.lock, q.election, q.lease):
            with pytest.raises(InvalidError, match="pip install --upgrade quorate-coordination"):
                use("jobs")


def test_a_client_imports_no_extension_until_it_is_used() -> None:
    # Without a vocabulary a client imports every installed plugin for its commands.
    code = (
        "import sys; from quorate.client import AsyncClient, Client;"
        " AsyncClient(vocabulary={}); Client(vocabulary={}).close();"
        " print([name for name in sys.modules if name.startswith('quorate_')"
        " or name in ('quorate.client.coordination', 'quorate.client.extensions')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
