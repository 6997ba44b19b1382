"""Where the warehouse's files lie: a local folder or an object store, with the same few operations."""
