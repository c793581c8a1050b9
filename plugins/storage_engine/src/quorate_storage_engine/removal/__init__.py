"""Deletion in two phases: engines are asked to drop what they hold, and rows go when they did."""
