-- The disposable index: everything here is made again from the files at any time.
-- Grain: docs one row a document, passages one row a passage, files one row a walked file.
-- Times are epoch milliseconds UTC. FTS tables are contentless: their text is segmented (memory/index/segment.py).

CREATE TABLE docs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: a reused rowid would inherit ghost terms
    anchor TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL, -- who owns the row: `files:<root>`, `threads`, ... ; a run removes only rows of its own
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    keywords TEXT NOT NULL, -- JSON list
    path TEXT NOT NULL,
    authority TEXT NOT NULL,
    updated_ms INTEGER, -- when the content changed
    indexed_ms INTEGER NOT NULL, -- when this row was written
    superseded_by TEXT,
    head TEXT, -- newest document of the chain that replaced this one
    is_demoted INTEGER NOT NULL DEFAULT 0, -- stands behind live documents
    is_archived INTEGER NOT NULL DEFAULT 0,
    source_ids TEXT NOT NULL DEFAULT '[]', -- JSON list: threads and messages it came from
    materialized_from TEXT,
    tier TEXT NOT NULL DEFAULT 'authoritative',
    text_hash TEXT NOT NULL, -- sha256 of the document as its source gave it
    fts_hash TEXT NOT NULL -- sha256 of the segmented text in docs_fts
) STRICT;
CREATE INDEX docs_by_kind ON docs (kind, updated_ms);
CREATE INDEX docs_by_path ON docs (path);
CREATE INDEX docs_by_origin ON docs (origin);

CREATE TABLE aliases (
    key TEXT NOT NULL, -- anchor_key() of a spelling
    doc_id INTEGER NOT NULL REFERENCES docs (id) ON DELETE CASCADE,
    is_own INTEGER NOT NULL, -- 1 for the anchor itself
    PRIMARY KEY (key, doc_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_doc ON aliases (doc_id);

CREATE TABLE doc_keywords (
    keyword TEXT NOT NULL, -- without case
    doc_id INTEGER NOT NULL REFERENCES docs (id) ON DELETE CASCADE,
    PRIMARY KEY (keyword, doc_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX doc_keywords_by_doc ON doc_keywords (doc_id);

CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    doc_id INTEGER NOT NULL REFERENCES docs (id) ON DELETE CASCADE,
    passage_id TEXT NOT NULL, -- made of the content
    position INTEGER NOT NULL,
    heading_path TEXT NOT NULL, -- JSON list
    text TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    speaker TEXT NOT NULL DEFAULT '',
    created_ms INTEGER,
    thread_id TEXT NOT NULL DEFAULT '',
    message_id TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL DEFAULT '',
    fts_hash TEXT NOT NULL,
    UNIQUE (doc_id, passage_id)
) STRICT;
CREATE INDEX passages_by_position ON passages (doc_id, position);
CREATE INDEX passages_by_thread ON passages (thread_id) WHERE thread_id <> '';

CREATE VIRTUAL TABLE docs_fts USING fts5(
    title, summary, keywords,
    content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_-'"
);
CREATE VIRTUAL TABLE passages_fts USING fts5(
    heading, text,
    content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_-'"
);

CREATE TABLE edges (
    owner TEXT NOT NULL, -- the document that states it; its edges go with it
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL, -- as stated: an anchor, or for doc_link a path relative to the root
    target_key TEXT NOT NULL, -- anchor_key(target), joined with aliases when read: a link to a document not yet
                              -- indexed comes alive with it
    provenance TEXT NOT NULL, -- frontmatter, content or manual: the same edge may be stated by several
    PRIMARY KEY (owner, source, relation, target_key, provenance)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_by_source ON edges (source);
CREATE INDEX edges_by_target ON edges (target_key);
CREATE INDEX edges_by_relation ON edges (relation) WHERE relation = 'supersedes';

CREATE TABLE files (
    root TEXT NOT NULL,
    path TEXT NOT NULL, -- relative to the root, POSIX
    outcome TEXT NOT NULL, -- indexed, skipped or failed
    reason TEXT NOT NULL,
    content_hash TEXT NOT NULL, -- sha256 of the bytes; empty for skipped files
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key TEXT PRIMARY KEY, -- generation, segmenter_version, indexed_ms, root, ...
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
