-- Replaced documents are few: every write looks at them.
CREATE INDEX docs_by_successor ON docs (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX docs_by_root_path ON docs (origin, path);
