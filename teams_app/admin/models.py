"""The Studio's pages of teams, members, keys and the audit log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.admin import display
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.admin import acts, token_acts, words
from teams_app.admin.pages import Act, RowPages, StudioAdmin, actor_of, titled
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Permission
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.times import absolute_words
from teams_app.engine.webhooks import NoticeKind, read_url
from teams_app.models import Endpoint, NoticeDelivery, Team


class TeamAdmin(RowPages):
    """The settings of the team: one page, for there is one team at a time."""

    needs = Permission.READ_TEAM
    heading = "Settings"
    team_field = "pk"
    acts: ClassVar[tuple[Act, ...]] = (
        acts.FOUND_TEAM,
        acts.RENAME_TEAM,
        acts.SET_WEBHOOK,
        acts.REMOVE_WEBHOOK,
        token_acts.LET_TOKENS_ANSWER,
        token_acts.LET_TOKENS_NOT_ANSWER,
    )
    list_display = ("name", "created_at")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        actor = actor_of(request)
        row = self.get_queryset(request).get()
        manages = actor.may(Permission.MANAGE_TEAM)
        page = {
            **self.admin_site.each_context(request),
            "title": "Settings",
            "acts": [link for link in self.links(request) if manages],
            "row": row,
            "public_id": to_text(Prefix.TEAM, row.pk),
            "rename_url": self.act_url(acts.RENAME_TEAM, row.pk) if manages else "",
            "tokens_url": self.act_url(_answering(row), row.pk) if manages else "",
            "endpoints": list(row.endpoints.order_by("set_at", "id")) if manages else None,
            "wheres": [(hook, _where(hook)) for hook in row.endpoints.order_by("set_at", "id")] if manages else [],
            "session_days": settings.SESSION_IDLE_DAYS,
            "trace_days": settings.TRACE_DAYS,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/settings.html", page)

    def show(self, request: HttpRequest, row: Team) -> HttpResponse:  # noqa: ARG002  there is one
        return HttpResponseRedirect(self.list_url())


def _answering(row: Team) -> Act:
    return token_acts.LET_TOKENS_NOT_ANSWER if row.tokens_answer_human else token_acts.LET_TOKENS_ANSWER


def _where(hook: Endpoint) -> str:
    host = f"go to {read_url(hook.url).authority}"
    if hook.switched_off_at is not None:
        return f"{host} no more: switched off at {_moment(hook.switched_off_at)}. {hook.failure}"
    if hook.failed_at is not None:
        return f"{host}; the last was not taken at {_moment(hook.failed_at)}: {hook.failure}"
    return host if hook.delivered_at is None else f"{host}; the last at {_moment(hook.delivered_at)}"


def _moment(at: datetime) -> str:
    return absolute_words(timezone.localtime(at))


class EndpointAdmin(StudioAdmin):
    """Only owners see where notices go."""

    needs = Permission.MANAGE_TEAM
    heading = "Where notices go"
    empty = (
        "Nobody outside is told",
        "Add the address of a chat channel or of a program, and choose what it hears of.",
    )
    is_setting = True
    acts: ClassVar[tuple[Act, ...]] = (
        acts.ADD_ENDPOINT,
        acts.CHOOSE_NOTICES,
        acts.SWITCH_ON_ENDPOINT,
        acts.REMOVE_ENDPOINT,
    )
    list_display = ("host", "shown_kinds", "shown_state", "delivered_at")
    fields = ("host", "public_id", "shown_kinds", "shown_state", "set_at", "delivered_at", "deliveries")
    sortable_by = ()

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return self.host(row) if isinstance(row, Endpoint) else super().row_name(request, row)

    @display(description="host")
    def host(self, row: Endpoint) -> str:
        """The rest of an address is often a secret of its own."""
        return read_url(row.url).authority

    @display(description="id")
    def public_id(self, row: Endpoint) -> str:
        return to_text(Prefix.ENDPOINT, row.pk)

    @display(description="notices")
    def shown_kinds(self, row: Endpoint) -> str:
        return ", ".join(words.NOTICES[NoticeKind(kind)] for kind in row.kinds)

    @display(description="state")
    def shown_state(self, row: Endpoint) -> str:
        return _where(row)

    @display(description="deliveries")
    def deliveries(self, row: Endpoint) -> SafeString:
        url = reverse("admin:teams_app_noticedelivery_changelist")
        return format_html('<a href="{}?endpoint__id__exact={}">What was sent</a>', url, row.pk)


class NoticeDeliveryAdmin(StudioAdmin):
    needs = Permission.MANAGE_TEAM
    heading = "What was sent"
    empty = ("Nothing was sent yet", "A notice stands here from the moment it is due.")
    is_setting = True
    acts: ClassVar[tuple[Act, ...]] = (acts.REDELIVER,)
    list_display = ("created_at", "shown_kind", "state", "tries", "next_try_at", "delivered_at", "failure")
    list_filter = ("state", "kind")
    list_select_related = ("endpoint",)
    lookups: ClassVar[Mapping[str, Reader]] = {"endpoint__id__exact": UUID}
    fields = (
        "public_id",
        "created_at",
        "shown_kind",
        "state",
        "tries",
        "next_try_at",
        "delivered_at",
        "failure",
        "shown_body",
    )

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return titled(self.shown_kind(row)) if isinstance(row, NoticeDelivery) else super().row_name(request, row)

    @display(description="notice", ordering="kind")
    def shown_kind(self, row: NoticeDelivery) -> str:
        return words.NOTICES[NoticeKind(row.kind)]

    @display(description="id")
    def public_id(self, row: NoticeDelivery) -> str:
        return to_text(Prefix.DELIVERY, row.pk)

    @display(description="body")
    def shown_body(self, row: NoticeDelivery) -> str:
        return bytes(row.body).decode()


class InvitationAdmin(StudioAdmin):
    needs = Permission.MANAGE_TEAM
    empty = ("Nobody is invited", "Whoever is invited on the page of the members stands here.")
    acts: ClassVar[tuple[Act, ...]] = (acts.WITHDRAW,)
    list_display = ("username", "role", "inviter_name", "expires_at", "accepted_at", "withdrawn_at")
    fields = ("username", "role", "inviter_name", "created_at", "expires_at", "accepted_at", "withdrawn_at")
