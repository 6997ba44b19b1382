"""The SQLite search store that agents search through MCP."""
