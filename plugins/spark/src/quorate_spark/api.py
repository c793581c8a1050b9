"""The API for other plugins: they offer tables as extensions of `spark.tables`.

`Table` and its parts come from `quorate.plugin`, so that a plugin offers its tables without
depending on this distribution:

    Extension(point="spark.tables", name="acme.orders", value=Table(...))
"""

from typing import Final

from quorate.plugin import ExtensionPoint
from quorate.plugin.advanced import Column, Removal, Table

__all__ = ["TABLES", "Column", "Removal", "Table"]

TABLES: Final = ExtensionPoint(name="spark.tables", type=Table)
