"""The index: documents, passages, full text, vectors and edges in one disposable SQLite file."""
