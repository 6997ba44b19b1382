"""Edges between documents and how an anchor is resolved through them."""
