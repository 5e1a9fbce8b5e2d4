"""How a commit is named where a person reads it."""

SHORT = 12  # digits of an id


def title(message: str) -> str:
    return message.partition("\n")[0]
