"""The fast path of plain requests: a signature verified by what is known of its client already, one probe of the
journals for all requests of a moment, and headers that were made before. Whatever is not plain takes the general path,
and so does whatever would be refused: the answers are the same."""
