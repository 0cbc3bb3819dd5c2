"""Where notices go is an owner's to say, the secret is shown once, and each change is on record."""

import pytest

from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AuditEntry, Endpoint
from teams_app.selectors import find_webhook
from teams_app.services.webhooks import remove_webhook, set_webhook
from tests.cast import LATER, NOW, audited

pytestmark = pytest.mark.django_db

URL = "https://chat.example.com/hooks/secret"


@pytest.fixture(autouse=True)
def _known_address(settings):
    settings.PUBLIC_URL = "https://rails.example.com"


def test_an_owner_sets_replaces_and_removes_the_address(house):
    alice = house.alice.actor
    first = set_webhook(actor=alice, url=f" {URL} ", now=NOW)
    second = set_webhook(actor=alice, url=URL, now=LATER)
    found = find_webhook(actor=alice)
    remove_webhook(actor=alice, now=LATER)

    assert first.secret != second.secret
    assert (found.url, found.set_at, found.failure) == (URL, LATER, "")
    assert find_webhook(actor=alice) is None
    assert audited(house.team) == ["webhook.set", "webhook.set", "webhook.removed"]


def test_the_log_names_the_host_and_no_secret(house):
    made = set_webhook(actor=house.alice.actor, url=URL, now=NOW)

    entry = AuditEntry.objects.get()
    assert (entry.target, entry.details) == (to_text(Prefix.TEAM, house.team.pk), {"host": "chat.example.com"})
    assert made.secret not in str(entry.details)


def test_a_new_address_knows_nothing_of_the_failures_of_the_old(house):
    set_webhook(actor=house.alice.actor, url=URL, now=NOW)
    Endpoint.objects.update(failed_at=NOW, failure="chat.example.com answered 503.")

    assert set_webhook(actor=house.alice.actor, url=URL, now=LATER).webhook.failed_at is None


def test_nobody_else_sets_removes_or_reads_it(house):
    set_webhook(actor=house.alice.actor, url=URL, now=NOW)

    for act in (
        lambda: set_webhook(actor=house.bob.actor, url=URL, now=NOW),
        lambda: remove_webhook(actor=house.bob.actor, now=NOW),
        lambda: find_webhook(actor=house.bob.actor),
    ):
        with pytest.raises(ForbiddenError):
            act()
    assert find_webhook(actor=house.charlie.actor) is None


def test_removing_what_is_not_there_is_refused(house):
    with pytest.raises(NotFoundError):
        remove_webhook(actor=house.alice.actor, now=NOW)


def test_an_address_that_is_none_is_refused(house):
    with pytest.raises(InvalidInputError):
        set_webhook(actor=house.alice.actor, url="http://chat.example.com/", now=NOW)

    assert Endpoint.objects.count() == 0


def test_a_server_that_does_not_know_its_own_address_sends_no_notices(house, settings):
    settings.PUBLIC_URL = ""

    with pytest.raises(PreconditionFailedError) as refused:
        set_webhook(actor=house.alice.actor, url=URL, now=NOW)

    assert "WORKRAIL_PUBLIC_URL" in refused.value.suggestion
