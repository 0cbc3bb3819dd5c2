"""Text that must fit a number of bytes."""

MORE = "…"


def fit_bytes(text: str, *, max_bytes: int, marker: str = MORE) -> str:
    """The text, or as many whole characters of it as fit before the marker."""
    if len(text) <= max_bytes // 4:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    room = max(max_bytes - len(marker.encode()), 0)
    return data[:room].decode("utf-8", "ignore") + marker
