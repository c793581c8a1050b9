"""The entry point of Spark: the name of the source, its columns, its readers and writers.

Nothing that needs gRPC is imported before it is used: Spark imports this in every session.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from quorate_spark.source.changes import ChangeReader
    from quorate_spark.source.reading import TableReader
    from quorate_spark.source.sink import ChangeWriter
    from quorate_spark.source.writing import TableWriter

#: The main module of a Spark process that passes filters.
_FILTERING: Final = "pyspark.sql.worker.data_source_pushdown_filters"


class QuorateSource(DataSource):
    """Rows of a Quorate cluster: `spark.read.format("quorate")` and `df.write.format("quorate")`.

    The option `table` names the rows, `endpoints` some nodes of the cluster.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "quorate"

    def schema(self) -> StructType:
        """Return the columns of the table, or of its changes."""
        from quorate_spark.source import catalog
        from quorate_spark.source.options import feed_options, read_options, table_options
        from quorate_spark.source.reading import schema_of

        options = catalog.created(self.options)
        if options is not None:
            return catalog.keeping(schema_of(table_options(options)), options)
        if "changes" in self.options:
            from quorate_spark.source.feeds import feed_of

            return feed_of(feed_options(self.options).changes).schema()
        return schema_of(read_options(self.options))

    def reader(self, schema: StructType) -> TableReader:
        """Return the reader for the driver and the executors."""
        from quorate_spark.source import catalog
        from quorate_spark.source.errors import SourceError
        from quorate_spark.source.options import READ, read_options
        from quorate_spark.source.reading import FilteredReader, TableReader, schema_of

        if "changes" in self.options:
            raise SourceError(
                "changes are a stream: use spark.readStream, or the option table for the rows"
            )
        options = read_options({**catalog.kept(schema, READ), **self.options})
        if _types(schema) != _types(schema_of(options)):
            raise SourceError(
                f"the columns of {options.table} are its own: leave schema(...) out, and select;"
                " drop a table of the catalog that is older than they are, and create it anew"
            )
        main = getattr(sys.modules["__main__"], "__spec__", None)
        filters = _FILTERING in sys.modules or (main is not None and main.name == _FILTERING)
        return (FilteredReader if filters else TableReader)(options)

    def streamReader(self, schema: StructType) -> ChangeReader:
        """Return the reader of the changes of a family."""
        from quorate_spark.source.errors import SourceError
        from quorate_spark.source.options import feed_options

        if "changes" not in self.options:
            raise SourceError(
                "a stream gives the changes of a table: name it with the option changes in place of"
                ' table, as in .option("changes", "kv.pairs")'
            )
        try:
            from quorate_spark.source.changes import ChangeReader
        except ModuleNotFoundError as error:
            raise SourceError(f"streams of changes need Spark 4.2 or later ({error})") from error

        return ChangeReader(feed_options(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> TableWriter:
        """Check the options and the columns, and begin the load."""
        from quorate_spark.source import catalog
        from quorate_spark.source.options import WRITE, write_options
        from quorate_spark.source.writing import begun

        options = write_options({**catalog.kept(schema, WRITE), **self.options})
        return begun(options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> ChangeWriter:
        """Check the options and the columns of a stream."""
        from quorate_spark.source.options import sink_options
        from quorate_spark.source.sink import sink

        return sink(sink_options(self.options), schema, overwrite=overwrite)


def _types(columns: StructType) -> list[tuple[str, str]]:
    """Return the names and types of columns; the catalog of Spark forgets which may be null."""
    return [(each.name, each.dataType.simpleString()) for each in columns.fields]
