"""Shows results as HTML: tables, differences and the commit graph. It makes no requests to the lake."""
