"""Every page and every act of the Studio, as its addresses are, asked by whoever may not: the answers are of one kind each."""

import html
import re
from dataclasses import replace
from functools import partial
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from teams_app.engine.actors import Role
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import Membership, Person
from teams_app.services.invitations import invite
from teams_app.services.resets import offer_reset
from tests.furnished import furnish
from tests.kept_rows import rows_in_tables
from tests.run_doors import enrol, person_text
from tests.studio.test_page_floods import routes

pytestmark = pytest.mark.django_db(transaction=True)

VIEWER, OPERATOR, AUTHOR, OWNER = Role.VIEWER, Role.OPERATOR, Role.AUTHOR, Role.OWNER
# What a page is of, by the name that `furnish` gives its row, who may look at it, and who may do what there.
_VIEWS = {"save-view": VIEWER, "share-view": OPERATOR, "forget-view": VIEWER}
_ROWS = {"export-rows": VIEWER, "hold-rows": OPERATOR, **_VIEWS}
MODELS = {
    "sessions_app/bundlejob": ("job", VIEWER, {"<>/file": VIEWER, "import": AUTHOR}),
    "sessions_app/checkpointrequest": (
        "checkpoint", VIEWER, {"<>/answer": OPERATOR, "<>/claim": OPERATOR, "<>/release": OPERATOR},
    ),
    "sessions_app/retention": ("retention", VIEWER, {"<>/remove": OWNER, "set": OWNER}),
    "sessions_app/run": (
        "run",
        VIEWER,
        {
            **dict.fromkeys(["<>/cancel", "<>/fork", "<>/mode", "<>/note", "<>/pause", "<>/prefer", "<>/rename", "<>/resume"], OPERATOR),
            "<>/compare": VIEWER, "<>/nodes/<>": VIEWER, "compare": VIEWER,
            "cancel-runs": OPERATOR, "pause-runs": OPERATOR, **_ROWS,
        },
    ),
    "sessions_app/worksession": (
        "session",
        VIEWER,
        {
            "<>/delete-for-good": OWNER, "<>/export": VIEWER, "<>/hold": OPERATOR, "<>/let-go": OPERATOR,
            "<>/log": VIEWER, "<>/mode": OPERATOR, "<>/rename": OPERATOR, "defaults": VIEWER, "defaults/mode": OWNER,
            **_ROWS,
        },
    ),
    "teams_app/agentkey": ("key", VIEWER, {"<>/disconnect": VIEWER, "<>/revoke": OWNER, "<>/rotate": OWNER, "issue": OWNER}),
    "teams_app/auditentry": ("auditentry", OWNER, {"export": OWNER}),
    "teams_app/endpoint": (
        "endpoint", OWNER, {"add": OWNER, "<>/notices": OWNER, "<>/remove": OWNER, "<>/switch-on": OWNER},
    ),
    "teams_app/invitation": ("invitation", OWNER, {"<>/withdraw": OWNER}),
    "teams_app/membership": (
        "member",
        VIEWER,
        {"<>/password-link": OWNER, "<>/remove": VIEWER, "<>/role": OWNER, "invite": OWNER, "notices": VIEWER},
    ),
    "teams_app/noticedelivery": ("delivery", OWNER, {"<>/again": OWNER}),
    "teams_app/personaltoken": ("token", VIEWER, {"<>/revoke": VIEWER, "issue": VIEWER}),
    "teams_app/team": (
        "team",
        VIEWER,
        {
            **dict.fromkeys(["<>/end", "<>/no-webhook", "<>/rename", "<>/tokens-answer", "<>/tokens-do-not-answer"], OWNER),
            "<>/webhook": OWNER, "found": OWNER,
        },
    ),
    "traces_app/traceevent": ("traceevent", VIEWER, {"runs/<>/timeline": VIEWER}),
    "workflows_app/alias": ("alias", VIEWER, {}),
    "workflows_app/binding": ("binding", VIEWER, {}),
    "workflows_app/resource": ("resource", VIEWER, {}),
    "workflows_app/revision": ("revision", VIEWER, {"<>/publish": AUTHOR}),
    "workflows_app/skill": ("skill", VIEWER, {}),
    "workflows_app/teamcontract": ("teamcontract", VIEWER, {}),
    "workflows_app/template": ("template", VIEWER, {}),
    "workflows_app/workflow": (
        "workflow",
        VIEWER,
        {
            **dict.fromkeys(["<>/edit", "<>/fork", "<>/publish", "<>/retire", "<>/save", "import", "new"], AUTHOR),
            "<>/compare": VIEWER, "<>/export": VIEWER, "<>/start": OPERATOR,
        },
    ),
}  # fmt: skip
# Pages of no model: who may look, and the row that the address names.
OTHERS = {
    **dict.fromkeys(
        ["", "find", "health", "more", "team", "jsi18n", "password_change", "password_change/done"], (VIEWER, "")
    ),
    "watch/run/<>": (VIEWER, "run"),
    "watch/team": (VIEWER, ""),
}
# Pages of Django's that the Studio has no use for: nobody gets anything there.
CLOSED = {"autocomplete", "r/<>/<>"}
# For whoever has not signed in; each has tests of its own.
OPEN = {
    "join/<>",
    "live/run/<>",
    "live/team",
    "login",
    "logout",
    "password/<>",
    "sign-on",
    "sign-on/back",
    "sign-on/link",
    "theme",
}
# Of each model Django has these, of which the Studio has no use for the last three.
# What its own person sees alone, and what shows nothing without another one beside it.
ALONE = {
    *("teams_app/personaltoken/<>/change", "teams_app/personaltoken/<>/revoke", "teams_app/personaltoken/<>/history"),
    "sessions_app/run/<>/compare",
}
# Whatever the role.
NOBODY = ("/delete", "/add")
_DJANGO = {"": None, "<>": None, "<>/change": None, "<>/history": None, "<>/delete": OWNER, "add": OWNER}


def pages():
    """Every page with the least role that may look, and the row that it names."""
    found = {name: (role, row) for name, (role, row) in OTHERS.items()}
    for model, (row, looks, acts) in MODELS.items():
        for page, least in {**_DJANGO, **acts}.items():
            whole = f"{model}/{page}".rstrip("/")
            found[whole] = (least or looks, row if "<>" in page else "")
    return found


ACTS = {f"{model}/{act}" for model, (_, _, acts) in MODELS.items() for act in acts}


def address(page, *rows):
    given = iter(rows)
    return f"/studio/{re.sub('<>', lambda _: str(next(given)), page)}/".replace("//", "/")


def addresses_of_studio():
    from workrail_site.studio import studio

    return {re.sub(r"<[^>]+>", "<>", route).rstrip("/") for route in routes(studio.get_urls()) if "(?P<" not in route}


def asks(client, method, place, given=None):
    response = getattr(client, method)(place, given or {})
    body = b"" if response.streaming else response.content
    if response.streaming:
        response.close()
    return response.status_code, response.headers.get("Location", ""), body.decode("utf-8", "replace")


def person(desk, role):
    client = Client()
    client.force_login(enrol(replace(desk.owner, id=person_text(), name=f"of-role-{role.value}", role=role)))
    return client


@pytest.fixture
def own(settings, redis_client):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = settings.THROTTLE_SIGN_IN_PER_MINUTE = 0
    return furnish("own-person")


def rows_for(page, row, rows):
    if "runs/<>" in page:
        return [to_text(Prefix.RUN, rows["run"])]
    count = page.count("<>")
    return [rows[row], rows.get("node")][:count] if count else []


def test_every_address_of_the_studio_has_a_row_here():
    """A new page or act is thought about before it is served."""
    assert addresses_of_studio() == pages().keys() | CLOSED | OPEN


def test_who_has_not_signed_in_is_led_to_the_sign_in_by_every_page(own):
    gone, off = person(own.desk, OWNER), person(own.desk, AUTHOR)
    Membership.objects.filter(person__username="of-role-owner").delete()
    Person.objects.filter(username="of-role-author").update(is_active=False)
    cells = 0
    for page, (_, row) in pages().items():
        place = address(page, *rows_for(page, row, own.rows))
        for who, client in (("nobody", Client()), ("somebody who has left", gone), ("somebody deactivated", off)):
            for method in ("get", "post") if who == "nobody" else ("post",) if page in ACTS else ("get",):
                status, location, body = asks(client, method, place)
                assert (status, location.partition("?")[0], body) == (302, "/studio/login/", ""), (who, method, place)
                cells += 1
    assert cells > 600


def test_a_role_that_is_too_low_is_refused_by_every_page_and_the_one_that_is_needed_is_not(own):
    clients = {role: person(own.desk, role) for role in Role}
    order, cells, wrong = list(Role), 0, []
    for page, (least, row) in pages().items():
        place = address(page, *rows_for(page, row, own.rows))
        closed = page.endswith(NOBODY) and page not in ACTS
        for role in order if closed else order[: order.index(least)]:
            for method in ("get", "post") if role is order[order.index(least) - 1] else ("post",):
                status, location, _ = asks(clients[role], method, place)
                # The address of a row leads on to its page, whoever asks.
                is_led_on = location == f"{place}change/"
                wrong += [(place, role.value, method, status, location)] if status != 403 and not is_led_on else []
                cells += 1
        if not closed and page not in ALONE:
            status, location, _ = asks(clients[least], "get", place)
            wrong += [(place, least.value, "get", status)] if status in {403, 404, 500} or "login" in location else []
            cells += 1
    assert not wrong, "\n".join(map(str, wrong))
    assert cells > 300


# Forms that name rows beside their address, each with the names of its fields.
TICKED = {
    "sessions_app/run/cancel-runs": "run",
    "sessions_app/run/pause-runs": "run",
    "sessions_app/run/export-rows": "run",
    "sessions_app/run/hold-rows": "run",
    "sessions_app/worksession/export-rows": "session",
    "sessions_app/worksession/hold-rows": "session",
}
# Addresses that name a row in what is asked of them.
ASKED = {
    "sessions_app/run/compare": ("rows", "run"),
    "find": ("q", "run"),
    "sessions_app/run/<>/compare": ("with", "run"),
}


_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|node_[a-z2-7]{26}")


def masked(answer, *values):
    status, location, body = answer
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", f"{location} {body}")
    for value in values:
        text = text.replace(str(value), "…")
    # Each page says the id of its own request; an address may be led on to another spelling of it.
    return status, _IDS.sub("…", text)


def test_a_row_of_another_team_is_answered_as_one_that_is_not_there_by_every_page(own):
    other = furnish("their-person")
    client = person(own.desk, OWNER)
    before, cells = rows_in_tables(other.desk.team_id), 0

    def alike(method, place, *named):
        nonlocal cells
        absent = {value: to_text(Prefix.RUN, uuid4()) if isinstance(value, str) else uuid4() for value in named}
        found = masked(asks(client, method, *place(*named)), *named)
        missed = masked(asks(client, method, *place(*absent.values())), *absent.values())
        assert found == missed, (method, place(*named))
        cells += 1

    for page, (_, row) in pages().items():
        if "<>" in page:
            for method in ("get", "post"):
                alike(method, lambda *rows, page=page: (address(page, *rows), {}), *rows_for(page, row, other.rows))
    for page, row in TICKED.items():
        alike("post", lambda each, page=page: (address(page), {"rows": [str(each)], "reason": "x"}), other.rows[row])
    assert rows_in_tables(other.desk.team_id) == before
    assert cells > 150


# A call is headed by its tool, which is called so.
_RAW = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|^(?!list_workflows$)[a-z]+_[a-z]+|\bNone\b|^\W")


def test_every_page_of_a_row_and_of_a_list_is_headed_in_words(own):
    """No id or value of ours, nothing twice, and headings that begin as others do."""
    client, wrong = person(own.desk, OWNER), []
    for page, (_, row) in pages().items():
        if not page.endswith(("/<>/change", *MODELS)):
            continue
        response = client.get(address(page, *rows_for(page, row, own.rows)))
        told = response.content.decode() if response.status_code == 200 else ""
        for title, said in re.findall(r"<h1[^>]*>(.*?)</h1>(?:<p class=\"facts\">(.*?)</p>)?", told, re.DOTALL):
            wrong += [(page, title)] if _RAW.search(title) or title == said else []
        for head in re.findall(r"<thead>(.*?)</thead>", told, re.DOTALL):
            words = [re.sub(r"<[^>]+>", "", each).strip() for each in re.findall(r"<th[^>]*>(.*?)</th>", head)]
            wrong += [(page, each) for each in words if each[:1].islower()]
    assert not wrong, "\n".join(map(str, wrong))


def words_in(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def told_of_place(page):
    """The title of the browser, the headings, the crumbs as (address, words), and what the last one says."""
    trail = "".join(re.findall(r'<ol class="crumbs cut">(.*?)</ol>', page, re.DOTALL))
    links = [(html.unescape(to), words_in(said)) for to, said in re.findall(r'<a href="([^"]*)">(.*?)</a>', trail)]
    here = [words_in(each) for each in re.findall(r'aria-current="page">(.*?)</span>', trail)]
    head, _, body = page.partition("</head>")
    titles, heads = (
        [words_in(each) for each in re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", part, re.DOTALL)]
        for tag, part in (("title", head), ("h1", body))
    )
    return titles, heads, links, here


def wrong_about_its_place(page, place="", heading_at=None):
    titles, heads, links, here = told_of_place(page)
    if len(titles) != 1 or not re.fullmatch(r"\w.* · Workrail Studio", titles[0]):
        yield "title", titles
    if len(heads) != 1 or not heads[0]:
        yield "heading", heads
    said = [*(words for _, words in links), *here]
    if not all(said) or len({*said}) < len(said):
        yield "crumbs", said
    for to, words in links:
        if to == place or heading_at(to) != words:
            yield "crumb", (to, words, heading_at(to))


@pytest.mark.parametrize("part", range(4))
def test_every_page_says_where_it_is_and_leads_back_to_what_its_reader_may_open(own, part):
    clients, heads, wrong, seen = {role: person(own.desk, role) for role in Role}, {}, [], 0

    def heading_at(role, to):
        if (role, to) not in heads:
            status, _, page = asks(clients[role], "get", to)
            heads[role, to] = told_of_place(page)[1][0] if status == 200 else status
        return heads[role, to]

    for page, (least, row) in list(pages().items())[part::4]:
        place = address(page, *rows_for(page, row, own.rows))
        for role in {least, OWNER}:
            status, _, body = asks(clients[role], "get", place)
            if status not in {301, 302, 304} and body.startswith("<!doctype html>"):
                found = wrong_about_its_place(body, place, partial(heading_at, role))
                wrong += [(place, role.value, *each) for each in found]
                seen += 1
    assert not wrong, "\n".join(map(str, wrong))
    assert seen > 20


def pages_of_strangers(own):
    invited = invite(actor=own.desk.owner, username="erin", role=VIEWER, now=timezone.now()).link
    member = Membership.objects.get(person__username="own-person")
    link = offer_reset(actor=own.desk.owner, member_id=member.pk, now=timezone.now()).link
    for place in ("login/", f"join/{invited}/", "join/x/", f"password/{link}/", "password/x/"):
        yield asks(Client(), "get", f"/studio/{place}")
    for place, given in (
        ("login/", {"username": "a", "password": "b"}),
        (f"join/{invited}/", {"way": "new"}),
        (f"password/{link}/", {"new_password": "a"}),
    ):
        yield asks(Client(), "post", f"/studio/{place}", given)
    yield asks(person(own.desk, VIEWER), "post", "/studio/logout/")
    yield asks(person(own.desk, OPERATOR), "get", "/studio/teams_app/auditentry/")


def test_so_does_every_page_of_whoever_is_not_in(own):
    told = list(pages_of_strangers(own))

    assert [status for status, _, _ in told] == [200, 200, 404, 200, 404, 200, 400, 400, 200, 403]
    assert [list(wrong_about_its_place(page)) for _, _, page in told] == [[] for _ in told]
