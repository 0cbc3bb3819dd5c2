"""What the pages of this app's Studio have in common."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from teams_app.admin.pages import StudioAdmin
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from teams_app.engine.pages import Page

T = TypeVar("T")

_MOST_POSITION_CHARACTERS = 120


class RowStudio(StudioAdmin):
    """A list of rows, each with a page of our own in place of Django's form."""

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002  Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002  Django's signature
    ) -> HttpResponse:
        return self.show_row(request, row_id_of(object_id))

    @abstractmethod
    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse: ...


def page(
    studio: StudioAdmin,
    request: HttpRequest,
    template: str,
    *,
    title: str,
    status: int = 200,
    live_run: UUID | None = None,
    live_team: bool = False,
    **shown: Any,
) -> HttpResponse:
    context = {
        **studio.admin_site.each_context(request),
        "title": title,
        "opts": studio.opts,
        "crumbs": [studio.list_crumb()],
        **live_at(run_id=live_run, team=live_team),
        **shown,
    }
    return TemplateResponse(request, template, context, status=status)


def some(row_id: UUID | None) -> UUID:
    """The row of an act that has one."""
    if row_id is None:
        raise Http404
    return row_id


def from_position(request: HttpRequest, read: Callable[[str | None], Page[T]]) -> Page[T]:
    """The page that the address names. One that names no place of the list begins at its first."""
    after = request.GET.get("after") or None
    try:
        return read(after[:_MOST_POSITION_CHARACTERS] if after else None)
    except (ValueError, InvalidInputError):
        return read(None)


def position_url(request: HttpRequest, position: str | None) -> str:
    """The same list from a place on; empty where it ends."""
    if position is None:
        return ""
    query = request.GET.copy()
    query["after"] = position
    return f"?{query.urlencode()}"


def id_in(request: HttpRequest, name: str) -> UUID | None:
    try:
        return UUID(request.GET.get(name, ""))
    except ValueError:
        return None


def live_at(*, run_id: UUID | None = None, team: bool = False) -> dict[str, str]:
    """Where a page hears that what it shows has moved on, and where it asks when it cannot hear."""
    if run_id is not None:
        arguments = (run_id,)
        return {
            "live_url": reverse("admin:live_run", args=arguments),
            "watch_url": reverse("admin:watch_run", args=arguments),
        }
    return {"live_url": reverse("admin:live_team"), "watch_url": reverse("admin:watch_team")} if team else {}


def found(read: Callable[[], T]) -> T:
    try:
        return read()
    except NotFoundError:
        raise Http404 from None
    except ForbiddenError:
        raise PermissionDenied from None


def row_id_of(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None
