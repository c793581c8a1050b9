"""Loads and exports the rows of every table with Spark, and records the loads."""
