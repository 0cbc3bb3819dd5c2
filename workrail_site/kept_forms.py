"""Forms of the Studio without the keys that slipped into them: what people write is kept as long as what agents write."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from teams_app.admin.pages import REFUSED_BEFORE
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.redaction import hide_own_keys, read_kept

View = Callable[..., HttpResponseBase]

# What proves who somebody is, is for nobody to keep.
_PROOFS = ("password", "again", "csrfmiddlewaretoken")
# The source of a workflow is kept byte for byte, on the pages on which it is sent; a key of ours is refused there too.
_WITH_SOURCES = ("/edit/", "/save/", "/import/")
_SOURCES = frozenset({"path", "paths", "text", "changed"})
# And so is where notices go: most such addresses let in whoever knows them.
_ADDRESSES = frozenset({"url"})


def without_keys(view: View) -> View:
    """A key of Workrail is refused: by the view, where that shows its form again with what was typed, and else by raising
    InvalidInputError. Keys of others are taken out, and the page says so.
    """
    shows_refusals = view.__dict__.get(REFUSED_BEFORE, False)

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST" and request.POST:
            try:
                _read(request)
            except InvalidInputError as refusal:
                if not shows_refusals:
                    raise
                _take_own_keys_out(request)
                request.META[REFUSED_BEFORE] = refusal
        return view(request, *args, **kwargs)

    return guarded


def _take_own_keys_out(request: HttpRequest) -> None:
    form = request.POST.copy()
    for name, values in _said(request).items():
        form.setlist(name, [hide_own_keys(value) for value in values])
    request.POST = form  # type: ignore[assignment]  # Django's own property has a setter


def _said(request: HttpRequest) -> dict[str, list[Any]]:
    return {name: values for name, values in request.POST.lists() if not any(proof in name for proof in _PROOFS)}


def _read(request: HttpRequest) -> None:
    said = _said(request)
    kept = read_kept(said).value
    as_written = _ADDRESSES | (_SOURCES if any(part in request.path for part in _WITH_SOURCES) else frozenset())
    hidden = {name: kept[name] for name in said.keys() & kept.keys() - as_written if kept[name] != said[name]}
    if not hidden:
        return
    form = request.POST.copy()
    for name, values in hidden.items():
        form.setlist(name, values)
    request.POST = form  # type: ignore[assignment]  # Django's own property has a setter
    messages.warning(request, "What looks like a key was left out: it is kept as [redacted].")
