"""Coverage search: everything on a question, source by source, with how each row was found."""
