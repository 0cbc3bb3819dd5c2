"""Forms of the Studio without the keys that slipped into them: what people write is kept as long as what agents write."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from teams_app.engine.redaction import read_kept

View = Callable[..., HttpResponseBase]

# What proves who somebody is, is for nobody to keep.
_PROOFS = ("password", "again", "csrfmiddlewaretoken")
# The source of a workflow is kept byte for byte, on the pages on which it is sent; a key of ours is refused there too.
_WITH_SOURCES = ("/edit/", "/save/", "/import/")
_SOURCES = frozenset({"path", "paths", "text", "changed"})
# And so is where notices go: most such addresses let in whoever knows them.
_ADDRESSES = frozenset({"url"})


def without_keys(view: View) -> View:
    """Raises InvalidInputError for a key of Workrail; keys of others are taken out, and the page says so."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST" and request.POST:
            _read(request)
        return view(request, *args, **kwargs)

    return guarded


def _read(request: HttpRequest) -> None:
    said = {name: values for name, values in request.POST.lists() if not any(proof in name for proof in _PROOFS)}
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
