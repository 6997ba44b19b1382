"""Topics to Parquet under a DuckDB catalog, and the measures read from it."""
