"""Agent runtimes to events: adapters, redaction, spool, publisher, HTTP collector."""
