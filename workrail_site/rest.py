"""What Django REST Framework is told, by name, in the settings: who asks, how a body is read, how a refusal looks.

The framework imports this module while it imports its own views, so nothing here may import those.
"""

from typing import Any, NoReturn

import structlog
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request, is_form_media_type

from teams_app.api.endpoints import actor_of, read_id, without_keys
from teams_app.engine.actors import Actor, Door
from teams_app.engine.errors import (
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    UnauthenticatedError,
    WorkrailError,
)
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.redaction import read_kept
from workflows_app.engine.canonical import MAX_VALUES, UnreadableJsonError, loads_strict
from workrail_site import admission, refusals
from workrail_site.errors import (
    CsrfFailedError,
    MethodNotAllowedError,
    UnsupportedMediaTypeError,
    too_large,
)
from workrail_site.wsgi_in_asgi import ACTOR

log = structlog.get_logger(__name__)

# Under these keys of a request's META its body, as it was read, and the code of its refusal wait for the end of the call.
PARSED_BODY = "workrail.body"
REFUSED_WITH = "workrail.refused_with"
_TOOLS = "/api/v1/dialects/"
# The source of a workflow, and where notices go: what would not be the same without what looks like a key.
AS_WRITTEN = frozenset({"archive", "bundle", "definition", "example", "files", "schema", "url"})


class KeyOrSession(BaseAuthentication):
    """A bearer key or token, or else a person's session with its CSRF proof. Neither borrows from a cookie beside it."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser | AnonymousUser, Actor] | None:
        header = request.headers.get("Authorization")
        if header is not None:
            actor = self._by_bearer(request, header)
            request.META[ACTOR] = actor
            return AnonymousUser(), actor
        person = getattr(request._request, "user", None)  # noqa: SLF001  the session's user, as DRF itself reads it
        if not isinstance(person, AbstractBaseUser):
            return None
        _require_csrf_proof(request)
        actor = self._by_session(request, person)
        request.META[ACTOR] = actor
        return person, actor

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002  DRF's signature
        return "Bearer"

    def _by_bearer(self, request: Request, header: str) -> Actor:
        actor = admission.admit_bearer(text=admission.read_bearer(header), door=Door.REST, now=timezone.now())
        chosen = request.headers.get(admission.TEAM_HEADER)
        if chosen is not None and chosen != to_text(Prefix.TEAM, actor.team_id):
            raise NotFoundError(
                "There is no such team for this key or token.",
                suggestion=f"Leave {admission.TEAM_HEADER} out: a key belongs to one team, and so does a token.",
            )
        return actor

    def _by_session(self, request: Request, person: AbstractBaseUser) -> Actor:
        chosen = request.headers.get(admission.TEAM_HEADER)
        team_id = None if chosen is None else read_id(prefix=Prefix.TEAM, text=chosen)
        return admission.admit_person(person_id=person.pk, team_id=team_id, door=Door.REST, now=timezone.now())


class IsKnown(BasePermission):
    """Whatever else a view allows, somebody must be named. What they may do is the service's to say."""

    def has_permission(self, request: Request, view: object) -> bool:  # noqa: ARG002  DRF's signature
        actor_of(request)
        return True


class StrictJsonParser(BaseParser):
    """JSON as the house stores it; its size is refused by the header, before a byte is read."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,  # noqa: ARG002  DRF's signature
        parser_context: Any = None,  # noqa: ARG002  DRF's signature
    ) -> Any:
        if int(stream.META.get("CONTENT_LENGTH") or 0) > settings.MAX_BODY_BYTES:
            raise too_large(limit_bytes=settings.MAX_BODY_BYTES)
        body = _read_json(stream.read())
        # As it was sent, for the trace, which hides more than this.
        stream.META[PARSED_BODY] = body
        if not isinstance(body, dict) or stream.path.startswith(_TOOLS):
            # A tool hides by itself, and says so in its reply.
            read_kept(body)
            return body
        as_written = {name: body[name] for name in AS_WRITTEN & body.keys()}
        read_kept(as_written)
        return {**without_keys(stream.META, {name: body[name] for name in body.keys() - as_written}), **as_written}


class JsonRenderer(BaseRenderer):
    """Endpoints answer bytes of their own; this only tells the framework, and the schema, which type they are."""

    media_type = "application/json"
    format = "json"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,  # noqa: ARG002  DRF's signature
        renderer_context: Any = None,  # noqa: ARG002  DRF's signature
    ) -> NoReturn:
        raise TypeError(f"an endpoint answered {type(data).__name__} and not a response")


class AlwaysJson(BaseContentNegotiation):
    """There is one representation, whatever the client says that it would like."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        given = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == given), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:  # noqa: ARG002  DRF's signature
        return renderers[0], renderers[0].media_type


def handle_exception(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Every way in which an endpoint can fail becomes a row of the table; nothing else reaches a client."""
    request = context["request"]._request  # noqa: SLF001  the Django request behind DRF's
    refusal = refusal_of(error)
    if isinstance(refusal, UnsupportedMediaTypeError | _NoJsonError):
        refusal = _with_types(refusal, context.get("view"))
    if refusal is None:
        log.error("unhandled_error", exc_info=error)
        refusal = refusals.internal_error()
    request.META[REFUSED_WITH] = refusal.code
    return refusals.problem_response(request=request, error=refusal)


class _NoJsonError(InvalidInputError):
    """What was said to be JSON is none, and may be something else that is read here."""


def _with_types(refusal: WorkrailError, view: Any) -> WorkrailError:
    """The same, with the types of body that this address reads, where JSON is not the only one."""
    types = [parser.media_type for parser in getattr(view, "parser_classes", ())]
    if len(types) < 2:
        return refusal
    advice = f"Say in Content-Type what the body is: {', '.join(types[:-1])} or {types[-1]}."
    return type(refusal)(refusal.message, suggestion=advice, details=refusal.details)


def refusal_of(error: Exception) -> WorkrailError | None:
    """The refusal that an exception stands for, or None when it is a defect of ours."""
    match error:
        case WorkrailError():
            return error
        case exceptions.MethodNotAllowed():
            return MethodNotAllowedError(str(error.detail), suggestion="See /api/v1/schema for what is served here.")
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaTypeError(str(error.detail), suggestion="Send Content-Type: application/json.")
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return UnauthenticatedError("Nobody is signed in.", suggestion="Send Authorization: Bearer wr_key_…")
        case exceptions.PermissionDenied() | PermissionDenied():
            return ForbiddenError("This is not permitted.", suggestion="Ask an owner of the team for a role that may.")
        case exceptions.NotFound() | Http404():
            return NotFoundError("There is nothing at this address.", suggestion="See /api/v1/schema.")
        case exceptions.ParseError() | exceptions.ValidationError() | SuspiciousOperation() | MultiPartParserError():
            return InvalidInputError("The request cannot be read.", suggestion="See /api/v1/schema.")
        case _:
            return refusals.database_refusal(error)


def _require_csrf_proof(request: Request) -> None:
    # The check reads a form and looks for its proof there, which leaves nothing to refuse of one that the operation does not take.
    if request.method not in SAFE_METHODS and _is_form_for_nobody(request):
        raise exceptions.UnsupportedMediaType(request.content_type)
    check = CSRFCheck(_nothing)
    django_request = request._request  # noqa: SLF001  CSRF reads the cookies and form of Django's own request
    check.process_request(django_request)
    reason = check.process_view(django_request, _nothing, (), {})
    if reason is not None:
        raise CsrfFailedError(
            f"Signed in by cookie, and {str(reason).rstrip('.')}.",
            suggestion="Send the csrftoken cookie's value in X-CSRFToken, or use an agent key.",
        )


def _is_form_for_nobody(request: Request) -> bool:
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    if not is_form_media_type(kind) or any(parser.media_type == kind for parser in request.parsers or ()):
        return False
    return "multipart" in kind or request.META.get("CONTENT_LENGTH") not in {None, "", "0"}


def _nothing(_request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def _read_json(data: bytes) -> Any:
    if not data:
        return {}
    try:
        return loads_strict(
            data, max_bytes=settings.MAX_BODY_BYTES, max_depth=settings.MAX_BODY_DEPTH, max_values=MAX_VALUES
        )
    except UnreadableJsonError as error:
        # A small zip may be UTF-8 throughout.
        is_other = error.reason == "not_utf8" or data.startswith((b"PK", b"\x1f\x8b"))
        raise (_NoJsonError if is_other else InvalidInputError)(
            error.message,
            suggestion="Send one JSON document in UTF-8.",
            details={"reason": error.reason, "offset": error.offset},
        ) from None
