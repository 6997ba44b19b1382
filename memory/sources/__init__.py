"""Files to documents: walking a folder, frontmatter, Markdown, kinds, lessons."""
