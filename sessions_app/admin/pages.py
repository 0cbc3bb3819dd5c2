"""What the pages of this app's Studio have in common."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.admin.pages import StudioAdmin
from teams_app.engine.errors import ForbiddenError, NotFoundError

T = TypeVar("T")


def badge(status: str) -> SafeString:
    return format_html('<span class="badge badge-{}">{}</span>', status, status.replace("_", " "))


def page(
    studio: StudioAdmin, request: HttpRequest, template: str, *, title: str, status: int = 200, **shown: Any
) -> HttpResponse:
    context = {**studio.admin_site.each_context(request), "title": title, "opts": studio.opts, **shown}
    return TemplateResponse(request, template, context, status=status)


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
