"""Threads and sessions: what agents and people said and did, read from the warehouse."""
