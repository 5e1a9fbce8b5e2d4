"""Contains one file for each operation of S3. `routes.py` says which request is which operation."""
