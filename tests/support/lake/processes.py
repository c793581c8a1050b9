"""Spark in processes of its own: a server of Spark Connect, a cluster, and programs for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import make_archive
from typing import Final

from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

ROOT: Final = Path(__file__).parents[3]
_DISTRIBUTIONS: Final = ("core", "plugins/spark", "plugins/mqtt")
_PROGRAM_S: Final = 300
_DEPLOY: Final = "org.apache.spark.deploy"
_CONNECT: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"


def _home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _environment(python: Path) -> dict[str, str]:
    """Return the environment of a process of Spark that runs this Python."""
    local = {"SPARK_HOME": str(_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **local, "PYSPARK_PYTHON": str(python)}


@contextmanager
def _part(log: Path, ready: str, command: list[str], python: Path) -> Iterator[None]:
    program = Program(log.name, log)
    program.start(command, _environment(python))

    def said() -> bool | None:
        assert program.runs, f"{log.name} ended: {program.said[-3_000:]}"
        return ready in program.said or None

    try:
        until(said)
        yield
    finally:
        program.end(signal.SIGTERM)
        program.close()


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Start a server of Spark Connect, and give its address."""
    [port] = free_ports(0)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
    }
    command = [str(_home() / "bin" / "spark-submit"), "--master", "local[2]", "--class", _CONNECT]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    ready = "Spark Connect server started"
    with _part(directory / "connect.log", ready, command, Path(sys.executable)):
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def standalone(directory: Path, python: Path) -> Iterator[str]:
    """Start a master and a worker, and give the master's address."""
    port, web = free_ports(0, 1)
    start = [str(_home() / "bin" / "spark-class")]
    master = [f"{_DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    worker = [f"{_DEPLOY}.worker.Worker", f"spark://127.0.0.1:{port}", "--host", "127.0.0.1"]
    worker += ["--cores", "2", "--memory", "1g", "--work-dir", str(directory / "work")]
    at = ["--webui-port", str(web)]
    log, ready = directory / "master.log", "New state: ALIVE"
    with (
        _part(log, ready, start + master + at, python),
        _part(
            directory / "worker.log",
            "Successfully registered with master",
            [*start, *worker, "--webui-port", "0"],
            python,
        ),
    ):
        yield f"spark://127.0.0.1:{port}"


def bare_python(directory: Path) -> Path:
    """Return a Python that has what is installed here but for the distributions of Quorate."""
    venv.create(directory, symlinks=True)
    python = directory / "bin" / "python"
    ask = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    for place in filter(lambda each: each.endswith("site-packages"), sys.path):
        for found in Path(place).iterdir():
            of_quorate = "quorate" in found.name.lower() or found.suffix == ".pth"
            if not of_quorate and not (own / found.name).exists():
                (own / found.name).symlink_to(found)
    return python


def zipped(directory: Path) -> Path:
    """Return the distributions of Quorate, without what they need, as one archive."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    # What stands on the path counts as installed.
    names = [str(ROOT / each) for each in _DISTRIBUTIONS]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    target = directory / "quorate"
    command = [*install, "--target", str(target), *names]
    subprocess.run(command, check=True, timeout=_PROGRAM_S, env=environment)
    return Path(make_archive(str(target), "zip", target))


def submit(python: Path, file: Path, *options: str, arguments: list[str]) -> str:
    """Carry out a program with `spark-submit`, and return what it printed."""
    command = [str(_home() / "bin" / "spark-submit"), *options, str(file), *arguments]
    environment = _environment(python)
    environment.pop("PYTHONPATH", None)
    return _said(command, environment)


def run(file: Path, *arguments: str) -> str:
    """Carry out a program, and return what it printed."""
    return _said([sys.executable, str(file), *arguments], _environment(Path(sys.executable)))


def _said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_PROGRAM_S,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, f"{done.stdout[-2_000:]}{done.stderr[-5_000:]}"
    return done.stdout
