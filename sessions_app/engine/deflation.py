"""Bytes that are stored deflated, with words that both sides know. Rows are read by their words for ever."""

import zlib

_RAW_DEFLATE = -15
_FASTEST = 1
MAX_BYTES = 256 * 1024 * 1024


class DeflatedError(ValueError):
    """The bytes were not deflated with these words, or are not all of it, or more than anybody may keep."""


def deflate(data: bytes, *, words: bytes) -> bytes:
    deflater = zlib.compressobj(
        _FASTEST, zlib.DEFLATED, _RAW_DEFLATE, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY, words
    )
    return deflater.compress(data) + deflater.flush()


def inflate(data: bytes, *, words: bytes) -> bytes:
    inflater = zlib.decompressobj(_RAW_DEFLATE, words)
    try:
        found = inflater.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise DeflatedError(f"It cannot be inflated: {error}.") from error
    if not inflater.eof or inflater.unused_data:
        raise DeflatedError("It ends too early, too late, or is too long.")
    return found
