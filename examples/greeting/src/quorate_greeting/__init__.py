"""Greets people: a complete plugin for Quorate, as a third party would write it."""
