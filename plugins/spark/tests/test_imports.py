"""What a process of Spark imports: a load starts several, and each of them imports all anew."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

TASK = """
import sys
from quorate.plugin.catalog import assemble
from quorate_spark.source import filing, placing
from quorate_spark.source.options import write_options
from quorate_spark.source.tables import find
from quorate_spark.source.writing import TableWriter

assemble(find("mqtt.sessions").declared)
options = {"table": "mqtt.sessions", "endpoints": "127.0.0.1:1", "timeout_s": "1"}
# It records the end of the load in a cluster that is not there.
TableWriter(write_options({**options, "load_id": "load"})).abort([])
print(*sys.modules)
"""


def test_a_task_imports_no_plugin_but_that_of_its_table_and_no_configuration() -> None:
    run = subprocess.run([sys.executable, "-c", TASK], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())

    packages = {name for name in imported if name.startswith("quorate_") and "." not in name}
    assert packages == {"quorate_mqtt", "quorate_spark"}
    assert "quorate.config" not in imported
