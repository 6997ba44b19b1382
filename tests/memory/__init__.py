"""Tests of the search store."""
