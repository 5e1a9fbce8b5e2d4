"""The web page, which uses only the public API. It is written in `ui/`, and `make setup` builds it into `files/`."""
