"""What every test runs with: settings of Hypothesis, and certificates where they are wanted."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

# gRPC reads it when it is imported first. Its handlers of a fork end the child now and then, which
# is Spark's Java where a test of the same process has used gRPC before.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# What Hypothesis draws is judged, never how fast.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--secure`."""
    parser.addoption(
        "--secure",
        action="store_true",
        help="encrypt all clusters of real nodes; clients and nodes show certificates",
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
