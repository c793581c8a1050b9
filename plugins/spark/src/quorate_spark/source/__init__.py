"""The data source `quorate` of Spark: what runs on the driver and on executors."""
