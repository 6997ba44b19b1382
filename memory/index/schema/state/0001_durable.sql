-- What no file can give back: priors, first sightings, review flags. Times are epoch milliseconds UTC.

CREATE TABLE anchor_priors (
    anchor TEXT PRIMARY KEY,
    as_of_ms INTEGER NOT NULL, -- an older run never overwrites a newer one
    is_withdrawn INTEGER NOT NULL DEFAULT 0, -- a tombstone keeps its instant, so that a late older prior stays out
    value TEXT NOT NULL -- streams.recall.AnchorPrior as JSON; empty when withdrawn
) STRICT, WITHOUT ROWID;

CREATE TABLE watermarks (
    name TEXT PRIMARY KEY,
    value_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE first_seen (
    anchor TEXT PRIMARY KEY,
    first_indexed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE review_flags (
    anchor TEXT NOT NULL,
    cause TEXT NOT NULL, -- the anchor that changed
    reason TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (anchor, cause)
) STRICT, WITHOUT ROWID;

CREATE TABLE manual_edges (
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (source, relation, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE walks (
    source TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    walked_ms INTEGER NOT NULL,
    PRIMARY KEY (source, relation, target, invocation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX walks_by_target ON walks (target);

CREATE TABLE roots (
    root TEXT PRIMARY KEY, -- absolute folder: what to index again when the index is lost
    registered_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
