"""The Studio's page of tokens: one's own, and for owners those of all members."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from teams_app import selectors
from teams_app.admin import token_acts, words
from teams_app.admin.pages import Act, RowPages, actor_of, offers
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Permission, TokenScope, person_id_of
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import PersonalToken

_ROWS = 100


class PersonalTokenAdmin(RowPages):
    needs = Permission.READ_TEAM
    acts: ClassVar[tuple[Act, ...]] = (token_acts.ISSUE_TOKEN, token_acts.REVOKE_TOKEN)
    list_display = ("name", "prefix", "person", "last_used_at", "expires_at", "revoked_at")
    search_fields = ("name", "prefix", "person__username")
    lookups: ClassVar[Mapping[str, Reader]] = {"after": UUID}

    def get_queryset(self, request: HttpRequest) -> QuerySet[PersonalToken]:
        return selectors.visible_tokens(actor=actor_of(request)).select_related("person")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        rows = self.get_queryset(request).order_by("-id")
        asked = request.GET.get("q", "").strip()[:100]
        if asked:
            wanted = Q(name__icontains=asked) | Q(prefix__startswith=asked) | Q(person__username__icontains=asked)
            rows = rows.filter(wanted)
        after = request.GET.get("after", "")
        found = list((rows.filter(pk__lt=UUID(after)) if after else rows)[: _ROWS + 1])
        page = {
            **self.admin_site.each_context(request),
            "title": "Tokens",
            "subtitle": "With a token a program of yours acts as you by REST, marked as such. Agents have keys.",
            "acts": self.links(request),
            "tokens": [self._shown(request, row) for row in found[:_ROWS]],
            "q": asked,
            "older": str(found[_ROWS - 1].pk) if len(found) > _ROWS else "",
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/tokens.html", page)

    def show(self, request: HttpRequest, row: PersonalToken) -> HttpResponse:
        page = {
            **self.admin_site.each_context(request),
            "title": row.name,
            "crumbs": [self.list_crumb()],
            "acts": self.links(request, row),
            "token": self._shown(request, row),
            "scopes": [words.TOKEN_SCOPES[scope] for scope in TokenScope if scope.value in row.scopes],
            "public_id": to_text(Prefix.TOKEN, row.pk),
        }
        return TemplateResponse(request, "studio/token.html", page)

    def _shown(self, request: HttpRequest, row: PersonalToken) -> dict[str, Any]:
        actor, now = actor_of(request), timezone.now()
        ended = "Revoked" if row.revoked_at is not None else "Ended" if row.expires_at <= now else ""
        return {
            "row": row,
            "is_mine": row.person_id == person_id_of(actor=actor),
            "may": words.token_scopes_in_words(row.scopes),
            "ended": ended,
            "ends_soon": not ended and row.expires_at - now < timedelta(days=7),
            "days": max(0, (row.expires_at - now).days),
            "revoke": ""
            if ended or not offers(actor, token_acts.REVOKE_TOKEN, row)
            else self.act_url(token_acts.REVOKE_TOKEN, row.pk),
        }
