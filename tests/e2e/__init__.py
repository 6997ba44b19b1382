"""Whole pipelines on the embedded broker."""
