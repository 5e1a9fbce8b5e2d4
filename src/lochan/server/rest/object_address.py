"""Says where an object is, for answers of the REST API: the file that holds it, or the name by which it is read."""

from lochan.api.object_results import ObjectDetails


def named_address(repository: str, ref: str, path: str) -> str:
    """Returns where a client finds the object by name, if it has not asked for the file behind it."""
    return f"lochan://{repository}/{ref}/{path}"


def physical_address(found: ObjectDetails, lake_url: str, repository: str, ref: str) -> str:
    """Returns the address of the file if it holds the object and nothing else. Otherwise, returns the name by which the
    object is read."""
    if len(found.blocks) == 1 and not found.blocks[0].offset:
        address = found.blocks[0].address
        return address if "://" in address else f"{lake_url.rstrip('/')}/{address}"
    return named_address(repository, ref, found.info.path)
