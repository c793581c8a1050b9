"""The messages of the plugin, generated from the `.proto` files beside them."""
