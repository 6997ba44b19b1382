"""Erasure: what a person or agent asked to be forgotten leaves every file, and a receipt says where it was."""
