"""Where things are in the Studio: the side, the tab bar of a phone, and the page behind “More”. Roles hide what they may not see."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse

from teams_app.engine.actors import Actor, Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """`app` is one whose every list belongs to the place."""

    icon: str
    label: str
    view: str
    needs: Permission
    app: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    icon: str
    label: str
    url: str
    is_here: bool
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nav:
    work: tuple[NavItem, ...]
    team: tuple[NavItem, ...]
    phone: tuple[NavItem, ...]

    @property
    def runs_url(self) -> str:
        return reverse(_RUNS.view)

    @property
    def all(self) -> tuple[NavItem, ...]:
        return self.work + self.team


_HOME = _Place(icon="home", label="Home", view="admin:index", needs=Permission.READ_TEAM)
_INBOX = _Place(
    icon="inbox",
    label="Inbox",
    view="admin:sessions_app_checkpointrequest_changelist",
    needs=Permission.READ_RUNS,
)
_RUNS = _Place(icon="runs", label="Runs", view="admin:sessions_app_run_changelist", needs=Permission.READ_RUNS)
_WORKFLOWS = _Place(
    icon="workflows",
    label="Workflows",
    view="admin:workflows_app_workflow_changelist",
    needs=Permission.READ_WORKFLOWS,
    app="workflows_app",
)
_WORK = (
    _HOME,
    _INBOX,
    _RUNS,
    _Place(
        icon="sessions",
        label="Sessions",
        view="admin:sessions_app_worksession_changelist",
        needs=Permission.READ_RUNS,
    ),
    _WORKFLOWS,
    _Place(icon="traces", label="Traces", view="admin:traces_app_traceevent_changelist", needs=Permission.READ_TRACES),
)
_TEAM = (
    _Place(icon="members", label="Members", view="admin:teams_app_membership_changelist", needs=Permission.READ_TEAM),
    _Place(icon="key", label="Keys", view="admin:teams_app_agentkey_changelist", needs=Permission.READ_TEAM),
    _Place(icon="key", label="Tokens", view="admin:teams_app_personaltoken_changelist", needs=Permission.READ_TEAM),
    _Place(icon="audit", label="Audit log", view="admin:teams_app_auditentry_changelist", needs=Permission.READ_AUDIT),
    _Place(icon="settings", label="Settings", view="admin:teams_app_team_changelist", needs=Permission.READ_TEAM),
    _Place(icon="health", label="Health", view="admin:health", needs=Permission.READ_TEAM),
)
_PHONE = (_HOME, _INBOX, _RUNS, _WORKFLOWS)


def navigation(*, actor: Actor, path: str, open_questions: int) -> Nav:
    def items(places: Iterable[_Place]) -> tuple[NavItem, ...]:
        return tuple(
            _item(place, path, open_questions if place is _INBOX else 0) for place in places if actor.may(place.needs)
        )

    phone = items(_PHONE)
    more = reverse("admin:more")
    is_elsewhere = not any(item.is_here for item in phone)
    return Nav(
        work=items(_WORK),
        team=items(_TEAM),
        phone=(*phone, NavItem(icon="more", label="More", url=more, is_here=is_elsewhere)),
    )


def _item(place: _Place, path: str, count: int) -> NavItem:
    url = reverse(place.view)
    own = reverse("admin:app_list", args=(place.app,)) if place.app else url
    is_here = path == url if place is _HOME else path.startswith(own)
    return NavItem(icon=place.icon, label=place.label, url=url, is_here=is_here, count=count)
