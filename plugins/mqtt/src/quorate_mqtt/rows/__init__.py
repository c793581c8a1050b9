"""Reads of rows whatever they mean: one row, many, a page of them in the order of their keys."""
