"""The bytes of objects: written to the store, read back, or left where they are outside the lake."""
