"""A cache of things that never change, bounded by bytes: what a digest or a revision id names is the same for ever."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    hits: int
    misses: int
    entries: int
    size_bytes: int


class ByteBoundedCache(Generic[K, V]):
    """Least recently used goes first. Safe among threads; a value larger than the whole bound is not kept."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size_bytes = 0
        self._hits = 0
        self._misses = 0

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, *, size_bytes: int) -> None:
        with self._lock:
            self._drop(key)
            if size_bytes > self._max_bytes:
                return
            self._entries[key] = (value, size_bytes)
            self._size_bytes += size_bytes
            while self._size_bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def info(self) -> CacheInfo:
        with self._lock:
            return CacheInfo(
                hits=self._hits, misses=self._misses, entries=len(self._entries), size_bytes=self._size_bytes
            )

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._size_bytes = self._hits = self._misses = 0

    def _drop(self, key: K) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._size_bytes -= found[1]
