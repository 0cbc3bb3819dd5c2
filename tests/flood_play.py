"""Inputs that are amplified, and what answering one may cost: processor time in proportion to what was sent."""

import gc
import time
from dataclasses import dataclass, field

# What a call may take beyond a plain one, for each byte that came. Reading JSON into Python and looking at it a few times takes
# a tenth of it; whatever is quadratic takes more at these sizes.
SECONDS_PER_BYTE = 4e-6
SECONDS_AT_LEAST = 0.25
PLAIN_RATIO = 20

LEAN, FULL = 60_000, 900_000


@dataclass(kw_only=True)
class Work:
    """Processor time of this thread while the block ran, without the collector of garbage: what that takes goes by all that the
    process holds, and not by what was sent.
    """

    seconds: float = 0.0
    _begun: float = field(default=0.0)

    def __enter__(self):
        gc.disable()
        self._begun = time.thread_time()
        return self

    def __exit__(self, *_error):
        self.seconds = time.thread_time() - self._begun
        gc.enable()


def allowed(*, plain, size):
    return SECONDS_AT_LEAST + PLAIN_RATIO * plain + SECONDS_PER_BYTE * size


def amplified(names, *, size):
    """By name: objects of about so many bytes, made of the fields that are known and of others."""
    names = list(names) or ["x"]
    count = size // 20
    each = size // len(names)
    deep = {}
    for _ in range(40):
        deep = {"d": deep, "l": [deep] if not deep else [1]}
    return {
        "many unknown names": {f"unknown_name_{number}": 1 for number in range(count)},
        "names that are nearly right": {f"{names[number % len(names)]}{number}": 1 for number in range(count)},
        "one long name": {"n" * size: 1},
        "long texts": dict.fromkeys(names, "a b " * (each // 4)),
        "texts of placeholders": dict.fromkeys(names, "{{a}}" * (each // 5)),
        "texts like patterns": dict.fromkeys(names, "(.+)+\\1*://a:b@password=" * (each // 24)),
        "texts like keys": dict.fromkeys(names, "sk-a ghp_ wr_key_ eyJ -----BEGIN PRIVATE KEY----- " * (each // 50)),
        "long lists": {name: list(range(min(each // 6, 20_000))) for name in names},
        "lists of objects": {name: [{f"k{place}": place} for place in range(each // 12)] for name in names},
        "objects of many names": {name: {f"k{place}": place for place in range(each // 10)} for name in names},
        "deep objects": dict.fromkeys(names, deep),
        "wrong kinds": {name: [[[[]]]] for name in names},
        "large numbers": dict.fromkeys(names, 10**300),
    }
