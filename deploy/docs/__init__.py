"""The generated pages of docs/: written from the code, compared in the tests."""
