"""The REST API: the same figures as `trodden measures`, for programs."""
