"""Users, roles and alarms of a store."""
