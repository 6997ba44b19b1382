"""The `trodden` command, one command a file."""
