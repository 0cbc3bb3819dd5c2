"""Counts stand with a noun: “1 gap”, “2 gaps”. Those that come as text are read here."""

# What Python, and a column of the database, reads without an error.
MOST_DIGITS = 9


def read_count(text: str) -> int | None:
    """The number, where the text is plain digits and not too many. `isdigit` alone takes “²”, which `int` does not read."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
