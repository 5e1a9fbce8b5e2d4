"""The words that a query can be made of, for whoever types one."""


def operators() -> list[str]:
    from lochan.query.syntax.parse import OPERATORS

    return list(OPERATORS)


def functions() -> list[str]:
    """With aggregates."""
    from lochan.query.functions import AGGREGATES, FUNCTIONS

    return [*AGGREGATES, *FUNCTIONS]
