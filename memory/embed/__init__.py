"""Embedding providers: texts to unit vectors, with an identity that says whose vectors they are."""
