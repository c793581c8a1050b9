"""Groups of shared subscriptions: their members, and the broker that leads each."""
