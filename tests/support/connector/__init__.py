"""What tests of the plugin, its simulation and its users say in a word."""
