"""Composition root: settings, command line, embedded broker, worker, demo."""
