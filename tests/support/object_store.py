"""A server of S3 on this machine, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

import pytest


@contextmanager
def bucket(name: str) -> Iterator[str]:
    """Yield the URL of a new bucket, which this process and those below it reach."""
    if find_spec("moto") is None or find_spec("s3fs") is None:
        pytest.skip("a server of S3 is not installed: pip install 'moto[server]' s3fs")
    server = import_module("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            patch.setenv("AWS_ACCESS_KEY_ID", "key")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            store = import_module("s3fs").S3FileSystem
            # Those of a server before are kept for the process.
            store.clear_instance_cache()
            store(use_listings_cache=False).mkdir(name)
            yield f"s3://{name}"
    finally:
        server.stop()
