"""What every test runs with: settings of Hypothesis, what stays together, and certificates."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

_CACHE: Final = TemporaryDirectory(prefix="quorate-cache-")

# gRPC reads it when it is imported first. Its handlers of a fork end the child now and then, which
# is Spark's Java where a test of the same process has used gRPC before.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
# What the command line remembers of the plugins is the user's, and tests put others in their place.
os.environ["XDG_CACHE_HOME"] = _CACHE.name

#: Folders whose tests share what is dear to make, a Java and a cluster, or the wheels of all
#: distributions: one worker has them all.
TOGETHER: Final = ("plugins/spark/", "tests/packaging/")
#: Few of these take as long as many others: no worker is to begin with one when the others end.
LONG: Final = (*TOGETHER, "tests/simulation/", "tests/console/")

# What Hypothesis draws is judged, never how fast.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")
settings.register_profile("quick", settings.get_profile("quorate"), max_examples=30)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--secure`."""
    parser.addoption(
        "--secure",
        action="store_true",
        help="clusters of real nodes ask for certificates, and for roles",
    )


def pytest_configure(config: pytest.Config) -> None:
    """With `--secure` make an authority, and tell clusters and clients by their variables."""
    if not config.getoption("--secure"):
        return
    from quorate.cli.authority import make_authority, sign

    directory = TemporaryDirectory(prefix="quorate-certificates-")
    config.add_cleanup(directory.cleanup)
    authority = Path(directory.name)
    make_authority(authority)
    sign(authority, "client", ["client"], serves=False)
    os.environ["QUORATE_TEST_CERTIFICATES"] = str(authority)
    os.environ["QUORATE_TLS_CA"] = str(authority / "ca.pem")
    os.environ["QUORATE_TLS_CERT"] = str(authority / "client.pem")
    os.environ["QUORATE_TLS_KEY"] = str(authority / "client.key")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On several processors begin with what takes long: some folders, then files of many tests."""
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(_scope(item.nodeid) for item in items)
    items.sort(key=lambda it: (not it.nodeid.startswith(LONG), -sizes[_scope(it.nodeid)]))


def _scope(nodeid: str) -> str:
    """Return what a test shares a worker with: its file, or its folder."""
    return next((each for each in TOGETHER if nodeid.startswith(each)), nodeid.partition("::")[0])


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what lives as long as the tests: half a million objects."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """With `--dist loadfile` keep the tests of some folders together, and all in their order."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return Scheduling(config, log)
