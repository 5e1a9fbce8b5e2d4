"""The REST API and the page, on one listener."""
