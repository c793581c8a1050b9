"""The data source `quorate` of Spark: the code of the driver and of executors."""
