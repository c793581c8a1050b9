"""The MQTT broker amqtt, with the state of its clients in Quorate."""
