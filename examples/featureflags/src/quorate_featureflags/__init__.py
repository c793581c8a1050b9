"""Feature flags: projects, their environments, and flags and segments in these."""
