"""How often a process that serves looks for garbage.

By itself the interpreter looks after every few hundred objects that are made, and now and then through all that the process holds: half a
second in one of ours, in which nobody is answered. Whoever sends a body of lists decides how many are made.
"""

import gc

# So many objects are made between two looks at them, so many of these looks are between two at those that stayed, and so many of those between
# two at all since the start: what a refusal holds in a circle, a body of many lists say, is gone after a million more.
_YOUNG, _STAYED, _LONG = 50_000, 5, 4


def spare_what_was_imported() -> None:
    """When all is imported: none of it is ever garbage, so it is never looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _STAYED, _LONG)
