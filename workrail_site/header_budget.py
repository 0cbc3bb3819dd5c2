"""How much the address and the headers of a request may say: judged on the event loop, before anything reads them, whoever asks.

Python's and Django's readers of what is quoted in a cookie or a content type take time with the square of its length, so
those are short. The server below lets hundreds of kilobytes through.
"""

from collections import Counter
from collections.abc import Mapping

from workrail_site.bodies import Scope
from workrail_site.errors import PayloadTooLargeError

MOST_BYTES_OF_ADDRESS = 16 * 1024
MOST_HEADERS = 100
MOST_BYTES = 32 * 1024
MOST_BYTES_OF_ANY = 16 * 1024
MOST_BYTES_OF: Mapping[bytes, int] = {b"content-type": 256, b"cookie": 16 * 1024}
# As much as a browser keeps in one.
MOST_BYTES_OF_COOKIE = 4 * 1024


def find_excess(scope: Scope) -> PayloadTooLargeError | None:
    """The refusal, when there is too much. Lines of one name count together, as they are read together."""
    if len(scope.get("path", "")) + len(scope.get("query_string", b"")) > MOST_BYTES_OF_ADDRESS:
        return _beyond("", MOST_BYTES_OF_ADDRESS, f"an address of more than {MOST_BYTES_OF_ADDRESS} bytes")
    headers = scope["headers"]
    if len(headers) > MOST_HEADERS:
        return _beyond("", MOST_HEADERS, f"more than {MOST_HEADERS} headers", "maxHeaders")
    lengths: Counter[bytes] = Counter()
    for name, value in headers:
        lengths[name] += len(value)
        if name == b"cookie" and _has_long_cookie(value):
            return _beyond("cookie", MOST_BYTES_OF_COOKIE, f"a cookie of more than {MOST_BYTES_OF_COOKIE} bytes")
    for name, length in lengths.items():
        limit = MOST_BYTES_OF.get(name, MOST_BYTES_OF_ANY)
        if length > limit:
            shown = name.decode("latin-1")[:40]
            return _beyond(shown, limit, f"a header {shown} of more than {limit} bytes")
    if sum(lengths.values()) + sum(map(len, lengths)) > MOST_BYTES:
        return _beyond("", MOST_BYTES, f"headers of more than {MOST_BYTES} bytes")
    return None


def _has_long_cookie(line: bytes) -> bool:
    return len(line) > MOST_BYTES_OF_COOKIE and any(len(pair) > MOST_BYTES_OF_COOKIE for pair in line.split(b";"))


def _beyond(header: str, limit: int, what: str, named: str = "maxBytes") -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The request has {what}.",
        suggestion="Send less in the address and the headers; what is long belongs in the body.",
        details={**({"header": header} if header else {}), named: limit},
    )
