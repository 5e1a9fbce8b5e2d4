"""Handles S3 on the wire: signatures, framed bodies, checksums, dates and XML. It does no input or output, and does not
use the engine."""
