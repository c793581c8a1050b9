"""Registers the data source: Spark looks for `DefaultSource` in packages of this name.

It is imported in every Spark session of its environment, and whatever it raised would hide all
other data sources: it imports nothing but the source's own declaration.
"""

from quorate_spark.source.data_source import QuorateSource as DefaultSource

__all__ = ["DefaultSource"]
