"""All metadata and business key-values of an MQTT broker, as a plugin for Quorate."""
