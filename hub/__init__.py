"""Web pages and REST API over the warehouse and the search store."""
