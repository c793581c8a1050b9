"""The MQTT broker amqtt, with what it knows of its clients in Quorate."""
