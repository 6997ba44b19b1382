"""Vectors of documents and passages: kept in sqlite-vec, searched in memory."""
