"""How Hypothesis runs in every test of the workspace: what it draws is judged, never how fast."""

from hypothesis import HealthCheck, settings

settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")
