"""Contains the fast path of plain requests. A signature is verified by what is already known of its client, the
journals are probed once for all requests of a moment, and headers are reused. Any request that is not plain, or would
be refused, takes the general path. The answers are the same."""
