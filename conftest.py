"""How Hypothesis runs in every test of the workspace."""

import os

from hypothesis import HealthCheck, settings

# gRPC reads it when it is imported first. Its handlers of a fork end the child now and then, which
# is Spark's Java where a test of the same process has used gRPC before.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# What Hypothesis draws is judged, never how fast.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")
