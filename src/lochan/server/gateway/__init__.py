"""Contains the S3 gateway, which answers the requests of S3 clients from repositories."""
