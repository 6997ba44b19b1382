"""The durable side of the store: what no file can give back."""
