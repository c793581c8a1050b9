"""Loads and exports the rows of every table with Spark, and keeps what loads there are."""
