"""The server answers as grpc-go's client of the interoperability tests wants it."""

from __future__ import annotations

import asyncio

import pytest

from tests.interop.conftest import Served
from tests.interop.programs import built, needs_go, ran

pytestmark = [pytest.mark.full, needs_go, pytest.mark.timeout(1_500)]
_MODULE = "google.golang.org/grpc/interop/client@latest"
#: All that need neither a cloud, nor several servers, nor reports of load.
CASES = (
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "status_code_and_message",
    "special_status_message",
    "custom_metadata",
    "unimplemented_method",
    "unimplemented_service",
    "pick_first_unary",
    "rpc_soak",
    "channel_soak",
)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the program; it is built once."""
    return str(asyncio.run(built(_MODULE, tmp_path_factory.mktemp("grpc-go"))))


@pytest.mark.parametrize("case", CASES)
async def test_a_case_of_grpc_go_passes(client: str, served: Served, case: str) -> None:
    """With TLS and without."""
    options = ["--server_host=127.0.0.1", f"--server_port={served.port}", f"--test_case={case}"]
    if served.authority is not None:
        options += ["--use_tls", "--use_test_ca", f"--ca_file={served.authority}"]
    if case.endswith("_soak"):
        options += ["--soak_iterations=100", "--soak_overall_timeout_seconds=120"]
        options += ["--soak_per_iteration_max_acceptable_latency_ms=60000"]
    code, printed = await ran(client, *options, GRPC_GO_LOG_SEVERITY_LEVEL="info")
    assert code == 0, printed
    assert served.server.faults.total() == 0


async def test_the_server_of_grpc_go_stands(grpc_go_port: int) -> None:
    """It accepts connections."""
    _, writer = await asyncio.open_connection("127.0.0.1", grpc_go_port)
    writer.close()
    await writer.wait_closed()
