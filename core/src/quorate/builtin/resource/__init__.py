"""Configuration by path: operators set it at run time, and plugins read it."""
