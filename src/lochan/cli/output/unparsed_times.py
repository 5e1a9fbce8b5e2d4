"""What a load says of values that are no times, though their fields are declared as times."""

from collections.abc import Mapping

from lochan.cli.error_boundary import print_message


def say_unparsed(counts: Mapping[str, int]) -> None:
    """`counts` are by field."""
    for field, count in counts.items():
        which = f"{field} is no time, and was loaded as a string"
        if count > 1:
            which = f"{field} are no times, and were loaded as strings"
        many = f"{count:,} value{'' if count == 1 else 's'}"
        print_message(f"{many} of {which}", f'find them with `kind({field}) == "string"`')
