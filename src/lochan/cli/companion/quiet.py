"""Defines the variables that keep libraries from starting threads when they are imported. The companion sets them for
itself. The commands that it runs have the variables of their fronts."""

QUIET = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
