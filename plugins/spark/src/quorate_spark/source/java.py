"""Checks for a Java that Spark can use; without one, Spark reports only an exit code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: The oldest Java that Spark 4 runs on.
OLDEST: Final = 17
_ANSWER_S: Final = 30.0
_VERSION: Final = re.compile(r'version "(\d+)')


def missing_java(environment: Mapping[str, str] | None = None) -> str:
    """Return how to install Java for Spark; empty if it is installed."""
    environment = os.environ if environment is None else environment
    fix = (
        f"install Java {OLDEST} or later (on Debian and Ubuntu: apt-get install"
        f" openjdk-{OLDEST}-jre-headless), or let JAVA_HOME name it"
    )
    home = environment.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"at JAVA_HOME, {home}" if home else "on PATH"
        return f"Spark needs Java, and there is none {where}: {fix}"
    try:
        printed = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"Spark needs Java, and {java} does not run ({error}): {fix}"
    version = _VERSION.search(printed)
    if version is None or int(version[1]) < OLDEST:
        return f"Spark needs Java {OLDEST} or later, and {java} is another one: {fix}"
    return ""
