"""The address of an object in the answers of the REST API: the file that holds it, or the name by which it is read."""

from lochan.api.object_results import ObjectDetails


def named_address(repository: str, ref: str, path: str) -> str:
    """Where a client finds the object by name, if it was not asked for the file behind it."""
    return f"lochan://{repository}/{ref}/{path}"


def physical_address(found: ObjectDetails, lake_url: str, repository: str, ref: str) -> str:
    """The file that holds the object and nothing else; of others, the name by which it is read."""
    if len(found.blocks) == 1 and not found.blocks[0].offset:
        address = found.blocks[0].address
        return address if "://" in address else f"{lake_url.rstrip('/')}/{address}"
    return named_address(repository, ref, found.info.path)
