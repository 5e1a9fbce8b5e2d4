"""S3 on the wire: signatures, framed bodies, checksums, dates, XML. No input or output, no engine."""
