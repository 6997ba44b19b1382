"""Session files on disk."""
