-- Declared topics apart from headings: coverage search follows them, and only them.
ALTER TABLE docs ADD COLUMN topics TEXT NOT NULL DEFAULT '[]'; -- JSON list
