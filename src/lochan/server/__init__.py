"""Contains `lochan serve`: the S3 gateway, the REST API and the page, over one lake."""
