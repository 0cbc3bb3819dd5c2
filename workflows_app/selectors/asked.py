"""What the moves of runs ask of the tables. A simulation answers it from memory: the functions below this line are the whole
boundary between what decides and what keeps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Every function that is asked, by its name, as it asks Postgres.
QUESTIONS: dict[str, Callable[..., Any]] = {}
_stand_in: ContextVar[Any] = ContextVar("stand_in", default=None)


def asked(question: Callable[_P, _R]) -> Callable[_P, _R]:
    """Marks what reads or writes tables for a move. Where a stand-in answers, it is asked by the same name."""
    name = question.__name__
    if name in QUESTIONS:
        raise ValueError(f"There are two questions of the name {name}.")
    QUESTIONS[name] = question

    @wraps(question)
    def ask(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        stand_in = _stand_in.get()
        if stand_in is None:
            return question(*args, **kwargs)
        answer: _R = getattr(stand_in, name)(*args, **kwargs)
        return answer

    return ask


@contextmanager
def answered_by(stand_in: object) -> Iterator[None]:
    """In this context nothing of `QUESTIONS` is asked of Postgres."""
    missing = [name for name in QUESTIONS if not hasattr(stand_in, name)]
    if missing:
        raise TypeError(f"The stand-in does not answer {', '.join(sorted(missing))}.")
    token = _stand_in.set(stand_in)
    try:
        yield
    finally:
        _stand_in.reset(token)
