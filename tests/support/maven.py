"""Java programs of Maven projects: fetched once, run with small heaps, killed with their test."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_FETCH_S: Final = 600
#: Runs a program that is killed when the test ends, also when the test was killed itself.
_GUARDED: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def missing(project: Path) -> str:
    """Return why the programs of a folder with a `pom.xml` cannot run; empty when they can."""
    for program in ("java", "javac", "mvn"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        class_path(project)
    except subprocess.SubprocessError as error:
        return f"Maven cannot fetch what {project / 'pom.xml'} names: {error}"
    return ""


@functools.cache
def class_path(project: Path) -> str:
    """Fetch what is not here yet, and return the class path of a project."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "class_path")
        command = ["mvn", "-q", "-B", "-f", str(project / "pom.xml")]
        command += ["dependency:build-classpath", f"-Dmdep.outputFile={file}"]
        # What was fetched before needs no network.
        for more, check in (["-o"], False), ([], True):
            if not file.exists():
                subprocess.run(command + more, check=check, timeout=_FETCH_S, capture_output=True)
        return file.read_text().strip()


def java(project: Path, *arguments: str, heap_mb: int = 128) -> list[str]:
    """Return the command that runs a program of a project, after options of the JVM."""
    guarded = [sys.executable, "-c", _GUARDED, "java", *_JVM, f"-Xmx{heap_mb}m"]
    return [*guarded, "-cp", class_path(project), *arguments]
