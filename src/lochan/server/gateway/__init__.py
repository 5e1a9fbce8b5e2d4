"""The S3 gateway: requests of S3 clients, answered from repositories."""
