"""The short way of plain requests: a signature checked by what is known of its client already, one look at the journals
for all requests of a moment, and headers that were made before. Whatever is not plain goes the general way, and so does
whatever would be refused: the answers are the same."""
