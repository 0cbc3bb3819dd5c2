"""The Studio's pages of teams, members, keys and the audit log."""

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from django.contrib.admin import display
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.admin import acts
from teams_app.admin.pages import Act, StudioAdmin
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Permission
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import read_url
from teams_app.models import Endpoint, NoticeDelivery, Team


class TeamAdmin(StudioAdmin):
    needs = Permission.READ_TEAM
    team_field = "pk"
    acts: ClassVar[tuple[Act, ...]] = (
        acts.FOUND_TEAM,
        acts.RENAME_TEAM,
        acts.SET_WEBHOOK,
        acts.REMOVE_WEBHOOK,
    )
    list_display = ("name", "public_id", "created_at")
    fields = ("name", "public_id", "created_at", "notices")

    @display(description="id")
    def public_id(self, row: Team) -> str:
        return to_text(Prefix.TEAM, row.pk)

    @display(description="notices")
    def notices(self, row: Team) -> str:
        """Only the host: the rest of an address is often a secret of its own."""
        hooks = list(row.endpoints.order_by("set_at", "id"))
        return "; ".join(_where(hook) for hook in hooks) or "go nowhere"


def _where(hook: Endpoint) -> str:
    host = f"go to {read_url(hook.url).authority}"
    if hook.switched_off_at is not None:
        return f"{host} no more: switched off at {hook.switched_off_at:%Y-%m-%d %H:%M} UTC. {hook.failure}"
    if hook.failed_at is not None:
        return f"{host}; the last was not taken at {hook.failed_at:%Y-%m-%d %H:%M} UTC: {hook.failure}"
    return host if hook.delivered_at is None else f"{host}; the last at {hook.delivered_at:%Y-%m-%d %H:%M} UTC"


class EndpointAdmin(StudioAdmin):
    """Only owners see where notices go."""

    needs = Permission.MANAGE_TEAM
    acts: ClassVar[tuple[Act, ...]] = (
        acts.ADD_ENDPOINT,
        acts.CHOOSE_NOTICES,
        acts.SWITCH_ON_ENDPOINT,
        acts.REMOVE_ENDPOINT,
    )
    list_display = ("host", "shown_kinds", "shown_state", "delivered_at")
    fields = ("host", "public_id", "shown_kinds", "shown_state", "set_at", "delivered_at", "deliveries")
    sortable_by = ()

    @display(description="host")
    def host(self, row: Endpoint) -> str:
        """The rest of an address is often a secret of its own."""
        return read_url(row.url).authority

    @display(description="id")
    def public_id(self, row: Endpoint) -> str:
        return to_text(Prefix.ENDPOINT, row.pk)

    @display(description="notices")
    def shown_kinds(self, row: Endpoint) -> str:
        return ", ".join(kind.replace("_", " ") for kind in row.kinds)

    @display(description="state")
    def shown_state(self, row: Endpoint) -> str:
        return _where(row)

    @display(description="deliveries")
    def deliveries(self, row: Endpoint) -> SafeString:
        url = reverse("admin:teams_app_noticedelivery_changelist")
        return format_html('<a href="{}?endpoint__id__exact={}">What was sent</a>', url, row.pk)


class NoticeDeliveryAdmin(StudioAdmin):
    needs = Permission.MANAGE_TEAM
    acts: ClassVar[tuple[Act, ...]] = (acts.REDELIVER,)
    list_display = ("created_at", "kind", "state", "tries", "next_try_at", "delivered_at", "failure")
    list_filter = ("state", "kind")
    list_select_related = ("endpoint",)
    lookups: ClassVar[Mapping[str, Reader]] = {"endpoint__id__exact": UUID}
    fields = (
        "public_id",
        "created_at",
        "kind",
        "state",
        "tries",
        "next_try_at",
        "delivered_at",
        "failure",
        "shown_body",
    )

    @display(description="id")
    def public_id(self, row: NoticeDelivery) -> str:
        return to_text(Prefix.DELIVERY, row.pk)

    @display(description="body")
    def shown_body(self, row: NoticeDelivery) -> str:
        return bytes(row.body).decode()


class InvitationAdmin(StudioAdmin):
    needs = Permission.MANAGE_TEAM
    acts: ClassVar[tuple[Act, ...]] = (acts.WITHDRAW,)
    list_display = ("username", "role", "inviter_name", "expires_at", "accepted_at", "withdrawn_at")
    fields = ("username", "role", "inviter_name", "created_at", "expires_at", "accepted_at", "withdrawn_at")
