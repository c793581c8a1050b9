"""A home of Spark without the copy of PySpark that Spark's Python processes would import first.

That copy is a zip file, and what is imported from one is compiled again by each process: a second
for each of five in a load. Without it they import PySpark as it is installed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

_HOME: Final = "SPARK_HOME"
#: The folders of Spark's launcher and of Spark itself.
_PARTS: Final = ("bin", "jars")


@contextmanager
def lean_home() -> Iterator[None]:
    """Let a Spark that is started meanwhile have such a home, unless the user has named one.

    It lasts for as long as this process.
    """
    installed = Path(pyspark.__file__).parent
    if _HOME in os.environ or not all((installed / part).is_dir() for part in _PARTS):
        yield
        return
    home = Path(tempfile.mkdtemp(prefix="quorate-spark-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for part in _PARTS:
        (home / part).symlink_to(installed / part)
    os.environ[_HOME] = str(home)
    try:
        yield
    finally:
        del os.environ[_HOME]
