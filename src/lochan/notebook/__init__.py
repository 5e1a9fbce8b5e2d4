"""How results are shown where HTML is: tables, differences and the commit graph. Nothing here asks the lake."""
