"""Servers that programs of others judge, and one of theirs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from quorate.cli.authority import make_authority, sign
from quorate.http2.grpc.server import Server, ServerLimits

from tests.interop.interop_service import METHODS
from tests.interop.programs import compiled

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Served:
    """Our server of the interoperability tests, with TLS or without."""

    server: Server
    port: int
    #: The certificate of its authority; None: it has no TLS.
    authority: Path | None


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with an authority, and a certificate of a server at the loopback."""
    directory = tmp_path_factory.mktemp("certificates")
    make_authority(directory)
    sign(directory, "server", ["127.0.0.1", "localhost"])
    return directory


@pytest.fixture(params=["plain", "tls"])
async def served(request: pytest.FixtureRequest, certificates: Path) -> AsyncIterator[Served]:
    """Serve the interoperability tests."""
    server = Server(METHODS.get, ServerLimits(), asyncio.get_running_loop())
    context = authority = None
    if request.param == "tls":
        authority = certificates / "ca.pem"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        context.set_alpn_protocols(["h2"])
    port = await server.listen("127.0.0.1", 0, context)
    yield Served(server, port, authority)
    await server.stop(0)


@pytest.fixture
async def grpc_go_port(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[int]:
    """Yield the port of grpc-go's server of the interoperability tests."""
    program = await compiled(
        _HERE / "serving.go", ["google.golang.org/grpc@latest"], tmp_path_factory.mktemp("go")
    )
    process = await asyncio.create_subprocess_exec(str(program), stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            port = int(await process.stdout.readline())
        yield port
    finally:
        process.kill()
        await process.wait()
