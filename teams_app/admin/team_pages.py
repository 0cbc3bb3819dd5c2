"""The Studio's pages of members, keys and the audit log."""

import csv
import io
import json
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from teams_app.admin import acts, words
from teams_app.admin.connecting import connecting
from teams_app.admin.pages import Act, ActLink, RowPages, actor_of, offers
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Door, Permission, Role, Scope, person_id_of
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AgentKey, AuditEntry, Invitation, Membership
from teams_app.services.audit_chain import count_entries, verify_team_audit

_ROWS = 100
_MOST_EXPORTED = 20_000
_EXPORTED = (
    "number",
    "at",
    "actor_kind",
    "actor_id",
    "actor_name",
    "door",
    "action",
    "target",
    "request_id",
    "details",
)
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# What the log can be asked for, by the beginnings of its actions.
_WHAT = {
    "people": ("People", ("member.", "invitation.", "person.", "password.", "mails.")),
    "sign-ins": ("Sign-ins", ("person.",)),
    "keys": ("Keys and tokens", ("key.", "token.", "client.")),
    "workflows": ("Workflows", ("workflow.", "alias.", "binding.", "contract.")),
    "questions": ("Questions", ("checkpoint.", "step.")),
    "runs": ("Runs and sessions", ("run.", "session.", "node.")),
    "team": ("The team", ("team.", "webhook.", "preferences.", "retention.", "view.")),
}
_WHEN = {"1": "today", "7": "last 7 days", "30": "last 30 days"}


class MembershipAdmin(RowPages):
    needs = Permission.READ_TEAM
    acts: ClassVar[tuple[Act, ...]] = (
        acts.INVITE,
        acts.CHOOSE_MAILS,
        acts.CHANGE_ROLE,
        acts.OFFER_RESET,
        acts.REMOVE_MEMBER,
    )
    list_display = ("person", "role", "created_at")
    list_select_related = ("person", "team")
    list_filter = ("role",)
    search_fields = ("person__username",)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        actor = actor_of(request)
        rows = self.get_queryset(request).select_related("person").order_by("id")
        words_asked = request.GET.get("q", "").strip()
        rows = rows.filter(person__username__icontains=words_asked[:100]) if words_asked else rows
        rows = rows.filter(role=request.GET["role__exact"]) if "role__exact" in request.GET else rows
        page = {
            **self.admin_site.each_context(request),
            "title": "Members",
            "acts": self.links(request),
            "members": [self._shown(request, row) for row in rows[:_MOST_MEMBERS]],
            "invitations": self._waiting(request) if actor.may(Permission.MANAGE_TEAM) else [],
            "roles": list(words.ROLES.values()),
            "q": words_asked,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/members.html", page)

    def show(self, request: HttpRequest, row: Membership) -> HttpResponse:  # noqa: ARG002  told by their row in the list
        """A member has no more to show than their row."""
        return HttpResponseRedirect(f"{self.list_url()}#{row.pk}")

    def _shown(self, request: HttpRequest, row: Membership) -> dict[str, Any]:
        actor = actor_of(request)
        is_you = row.person_id == person_id_of(actor=actor)
        name, may = words.ROLES[Role(row.role)]
        return {
            "row": row,
            "name": row.person.username,
            "is_you": is_you,
            "by_group": row.by_sign_on,
            "role": name,
            "may": may,
            "acts": [link for link in self.links(request, row) if is_you or actor.may(Permission.MANAGE_TEAM)],
        }

    def _waiting(self, request: HttpRequest) -> list[dict[str, Any]]:
        team_id, now = actor_of(request).team_id, timezone.now()
        rows = Invitation.objects.filter(
            team_id=team_id, accepted_at__isnull=True, withdrawn_at__isnull=True, expires_at__gt=now
        )
        return [
            {
                "row": row,
                "role": words.ROLES[Role(row.role)][0],
                "withdraw": reverse("admin:teams_app_invitation_act_withdraw", args=(row.pk,)),
            }
            for row in rows.order_by("-id")[:_MOST_MEMBERS]
        ]


_MOST_MEMBERS = 500


class AgentKeyAdmin(RowPages):
    needs = Permission.READ_TEAM
    heading = "Keys"
    acts: ClassVar[tuple[Act, ...]] = (acts.ISSUE_KEY, acts.ROTATE_KEY, acts.REVOKE_KEY, acts.DISCONNECT)
    list_display = ("name", "prefix", "last_used_at", "expires_at", "revoked_at")
    search_fields = ("name", "prefix")
    lookups: ClassVar[Mapping[str, Reader]] = {"after": UUID, "key": UUID}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        rows = self.get_queryset(request)
        asked = request.GET.get("q", "").strip()[:100]
        rows = rows.filter(Q(name__icontains=asked) | Q(prefix__startswith=asked)) if asked else rows
        shown, after = _page(rows, request.GET.get("after", ""))
        called = self.calls_today(actor_of(request))
        page = {
            **self.admin_site.each_context(request),
            "title": self.heading,
            "subtitle": "An agent signs in with a key. It is never a person: it cannot answer what asks for people.",
            "keys": sorted((self._shown(request, row, called) for row in shown), key=lambda each: bool(each["ended"])),
            "are_calls_known": called is not None,
            "key_count": rows.count(),
            **connecting(request),
            "older": after,
            "q": asked,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/agent_keys.html", page)

    def show(self, request: HttpRequest, row: AgentKey) -> HttpResponse:
        page = {
            **self.admin_site.each_context(request),
            "title": row.name,
            "crumbs": [self.list_crumb()],
            "acts": self._acts_of(request, row),
            "key": self._shown(request, row),
            "scopes": [words.SCOPES[Scope(scope)] for scope in row.scopes],
            "public_id": to_text(Prefix.KEY, row.pk),
        }
        return TemplateResponse(request, "studio/agent_key.html", page)

    def row_name(self, request: HttpRequest, row: Model) -> str:  # noqa: ARG002  as above
        return row.name if isinstance(row, AgentKey) else str(row)

    def calls_today(self, actor: Actor) -> Mapping[str, str] | None:  # noqa: ARG002  for those who know of calls
        """How often each key has called since midnight, in words, by its public id; None where that is not known."""
        return None

    def _shown(self, request: HttpRequest, row: AgentKey, called: Mapping[str, str] | None = None) -> dict[str, Any]:
        now = timezone.now()
        ended = row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now)
        return {
            "row": row,
            "may": words.scopes_in_words(row.scopes),
            "ended": "Revoked" if row.revoked_at else "Ended" if ended else "",
            "ends_soon": row.expires_at is not None and not ended and row.expires_at - now < timedelta(days=7),
            "days": None if row.expires_at is None else max(0, (row.expires_at - now).days),
            "rotate": self.act_url(acts.ROTATE_KEY, row.pk) if offers(actor_of(request), acts.ROTATE_KEY, row) else "",
            "revoke": "" if ended else self._revoke_url(actor_of(request), row),
            "by_sign_on": row.person_id is not None,
            "calls": f"{reverse('admin:traces_app_traceevent_changelist')}?q={to_text(Prefix.KEY, row.pk)}",
            "called": (called or {}).get(to_text(Prefix.KEY, row.pk), ""),
        }

    def _acts_of(self, request: HttpRequest, row: AgentKey) -> list[ActLink]:
        """Who may revoke it as an owner, and as the one who connected it, is offered that once."""
        found: dict[str, ActLink] = {}
        for link in self.links(request, row) if row.revoked_at is None else ():
            found.setdefault(link.label, link)
        return list(found.values())

    def _revoke_url(self, actor: Actor, row: AgentKey) -> str:
        """An owner revokes every key; anybody else the clients that they connected."""
        offered = [act for act in (acts.REVOKE_KEY, acts.DISCONNECT) if offers(actor, act, row)]
        return self.act_url(offered[0], row.pk) if offered else ""


class AuditEntryAdmin(RowPages):
    needs = Permission.READ_AUDIT
    list_display = ("at", "actor_name", "door", "action", "target")
    list_filter = ("door", "actor_kind")
    search_fields = ("=action", "=target", "=actor_id", "actor_name")
    lookups: ClassVar[Mapping[str, Reader]] = {
        "after": UUID,
        "what": list(_WHAT).index,
        "days": list(_WHEN).index,
        "check": ["1"].index,
    }

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export_view)
        return [path("export/", view, name="teams_app_auditentry_export"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.admit(request)
        self.take_declared(request)
        actor = actor_of(request)
        shown, after = _page(self._asked(request), request.GET.get("after", ""))
        faults = list(verify_team_audit(actor=actor)) if "check" in request.GET else None
        page = {
            **self.admin_site.each_context(request),
            "title": "Audit log",
            "count": words.count_in_words(count_entries(actor=actor)),
            "faults": faults,
            "days": _days(shown, self.names_of(actor, {row.target for row in shown})),
            "menus": _menus(request),
            "q": request.GET.get("q", ""),
            "older": after,
            "export_url": reverse("admin:teams_app_auditentry_export"),
            "query": _kept(request).urlencode(),
            "beside": {name: value for name, value in _kept(request).items() if name != "q"},
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/audit.html", page)

    def show(self, request: HttpRequest, row: AuditEntry) -> HttpResponse:
        page = {
            **self.admin_site.each_context(request),
            "title": "One entry",
            "crumbs": [self.list_crumb()],
            "days": _days([row], self.names_of(actor_of(request), {row.target}), is_open=True),
        }
        return TemplateResponse(request, "studio/audit_entry.html", page)

    def names_of(self, actor: Actor, targets: Collection[str]) -> Mapping[str, str]:  # noqa: ARG002  for those who know of runs
        """What the targets of entries are called, by their ids, where this app does not know it."""
        return {}

    def export_view(self, request: HttpRequest) -> HttpResponse:
        """What is asked for, as a table, the newest first."""
        self.admit(request)
        self.take_declared(request)
        rows = list(self._asked(request).values_list(*_EXPORTED)[: _MOST_EXPORTED + 1])
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerow(_EXPORTED)
        writer.writerows([_cell(value) for value in row] for row in rows[:_MOST_EXPORTED])
        name = f"audit-newest-{_MOST_EXPORTED}.csv" if len(rows) > _MOST_EXPORTED else "audit.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)

    def _asked(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        rows: QuerySet[AuditEntry] = self.get_queryset(request)
        given = request.GET
        for name in ("door", "actor_kind"):
            if f"{name}__exact" in given:
                rows = rows.filter(**{name: given[f"{name}__exact"]})
        if "what" in given:
            wanted = Q()
            for beginning in _WHAT[given["what"]][1]:
                wanted |= Q(action__startswith=beginning)
            rows = rows.filter(wanted)
        if "days" in given:
            rows = rows.filter(at__gte=timezone.now() - timedelta(days=int(given["days"])))
        text = given.get("q", "").strip()[:100]
        if text:
            named = Q(actor_name__icontains=text) | Q(details__icontains=text)
            rows = rows.filter(named | Q(action=text) | Q(target=text) | Q(actor_id=text))
        return rows


def _cell(value: Any) -> str:
    """Details as JSON. A program for tables takes a text that begins so for a formula, and people and clients name things as they like."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str("" if value is None else value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _page(rows: QuerySet[Any], after: str) -> tuple[list[Any], str]:
    """The rows after that one, the newest first, and where the next page begins."""
    rows = rows.order_by("-id")
    if after:
        rows = rows.filter(pk__lt=UUID(after))
    found = list(rows[: _ROWS + 1])
    return found[:_ROWS], str(found[_ROWS - 1].pk) if len(found) > _ROWS else ""


def _days(rows: list[AuditEntry], names: Mapping[str, str], *, is_open: bool = False) -> list[dict[str, Any]]:
    days: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        days.setdefault(timezone.localtime(row.at).date(), []).append(
            {
                "row": row,
                "said": words.sentence_of(row, names.get(row.target, "")),
                "details": words.details_of(row),
                "door": words.DOORS[Door(row.door)],
                "token": words.token_of(row),
                "kind": "agent" if words.is_agent(row) else "person",
                "is_open": is_open,
            }
        )
    today = timezone.localtime(timezone.now()).date()
    return [{"title": _day(day, today), "rows": entries} for day, entries in days.items()]


def _day(day: Any, today: Any) -> str:
    told = f"{day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")
    passed = (today - day).days
    return f"Today, {told}" if passed == 0 else f"Yesterday, {told}" if passed == 1 else told


def _menus(request: HttpRequest) -> list[dict[str, Any]]:
    doors = {door.value: label for door, label in words.DOORS.items()}
    kinds = {"person": "people", "agent_key": "agents", "system": "Workrail itself"}
    return [
        _menu(request, "Who", "actor_kind__exact", kinds, "anybody"),
        _menu(request, "What", "what", {slug: label for slug, (label, _) in _WHAT.items()}, "everything"),
        _menu(request, "Through", "door__exact", doors, "any door"),
        _menu(request, "When", "days", _WHEN, "any time"),
    ]


def _menu(request: HttpRequest, label: str, name: str, values: Mapping[str, str], none: str) -> dict[str, Any]:
    chosen = request.GET.get(name, "")
    kept = request.GET.copy()
    for dropped in (name, "after", "check"):
        kept.pop(dropped, None)
    base = kept.urlencode()
    choices = [{"label": none, "url": f"?{base}", "is_here": not chosen}]
    for value, words_of_it in values.items():
        url = f"?{base}&{name}={value}" if base else f"?{name}={value}"
        choices.append({"label": words_of_it, "url": url, "is_here": value == chosen})
    return {"label": label, "chosen": values.get(chosen, none), "choices": choices}


def _kept(request: HttpRequest) -> QueryDict:
    kept = request.GET.copy()
    for dropped in ("after", "check"):
        kept.pop(dropped, None)
    return kept
