"""Keeps the index in step with its folder."""
