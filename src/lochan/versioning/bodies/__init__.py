"""The bytes of objects: written to the store, read back, or left where they already lie outside the lake."""
