"""Benches: one file a bench; they print ratios measured in one run."""
