"""The built-in domain of pairs: keys and values as bytes, in `kv.pairs`."""
