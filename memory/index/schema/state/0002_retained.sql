-- What agents asked to be remembered. Grain: one row a memory; the same content is one row, however often it comes.
CREATE TABLE retained (
    id TEXT PRIMARY KEY, -- made of the content
    content TEXT NOT NULL,
    tags TEXT NOT NULL, -- JSON list
    source TEXT NOT NULL, -- who asked, where known
    support INTEGER NOT NULL DEFAULT 1, -- how often it was asked for
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
