"""The demo's own world: documentation of a made-up product, and agents that search it while they work on it."""
