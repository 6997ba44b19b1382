"""Whether the index says what its files say, and how it is put right."""
