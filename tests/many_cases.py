"""Many cases in one test: for what changes nothing, so that all of them can be asked of one set of rows."""

import inspect
from functools import wraps


def each(names, cases):
    """Calls the test for each case, as `parametrize` does, but within one set-up. A failure says which case it was."""
    names = (names,) if isinstance(names, str) else names

    def over_all(test):
        @wraps(test)
        def of_all(**given):
            for case in cases:
                own = dict(zip(names, case if len(names) > 1 else (case,), strict=True))
                try:
                    test(**given, **own)
                except BaseException as error:
                    error.add_note(f"the case: {own}")
                    raise

        kept = [one for name, one in inspect.signature(test).parameters.items() if name not in names]
        of_all.__signature__ = inspect.Signature(kept)
        return of_all

    return over_all
