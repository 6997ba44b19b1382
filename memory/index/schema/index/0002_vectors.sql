-- Vectors by content: equal text is embedded once, and a rebuild embeds nothing anew.
-- The vectors themselves lie in a vec0 table for each space, `vectors_<id>`, created with its dimension.

CREATE TABLE spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE, -- provider, model, revision, dimension, prefixes as JSON
    dim INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE vector_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- rowid in vectors_<space>
    space INTEGER NOT NULL REFERENCES spaces (id),
    key TEXT NOT NULL, -- units.key
    UNIQUE (space, key)
) STRICT;

-- What should have a vector: each document's title, its title with summary, and each passage.
CREATE VIEW units (doc_id, passage, key) AS
SELECT id, 0, 't:' || fts_hash FROM docs
UNION ALL
SELECT id, 0, 'd:' || fts_hash FROM docs
UNION ALL
SELECT doc_id, id, 'p:' || fts_hash FROM passages;
