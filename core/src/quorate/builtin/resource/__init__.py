"""Configuration by path: what operators set at run time, and plugins read."""
