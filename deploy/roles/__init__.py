"""The worker roles, one a file: each connects what it needs from the settings and runs until it is told to stop."""
