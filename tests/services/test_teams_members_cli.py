"""`./workrail members …`: what it prints, and what it leaves."""

import io
import re

import pytest

pytestmark = pytest.mark.django_db


def run(*arguments):
    from django.core.management import CommandError, call_command

    out = io.StringIO()
    try:
        call_command("members", *arguments, stdout=out)
    except CommandError as error:
        return f"refused: {error}"
    return out.getvalue()


@pytest.fixture
def only_team(house):
    house.charlie.membership.delete()
    house.other_team.delete()
    return house.team


def test_somebody_is_invited_promoted_and_removed_by_whoever_runs_the_server(only_team, client):
    invited = run("invite", "Dora", "author")
    link = re.search(r"/studio/join/wr_link_[a-z2-7]{40}/", invited).group(0)
    assert "dora  author  invited, until" in run("list")
    given = {"way": "new", "new_password": "correct horse battery", "again": "correct horse battery"}
    assert client.post(link, given)["Location"] == "/studio/"

    assert run("role", "dora", "owner") == "dora is now owner.\n"
    assert run("list").split("\n") == ["alice  owner", "bob  operator", "dora  owner", ""]
    assert re.search(r"/studio/password/wr_link_[a-z2-7]{40}/", run("reset", "dora"))
    assert run("remove", "dora") == "dora is no longer in the team.\n"


def test_what_cannot_be_done_is_refused_in_words(only_team):
    assert run("remove", "alice").startswith("refused: alice is the last owner")
    assert run("remove", "eve") == "refused: eve is not in the team. ./workrail members list shows who is."
    assert run("reset", "eve").startswith("refused: eve is in no team.")
    assert run("withdraw", "eve").startswith("refused: No invitation of eve is open.")
    assert run("invite", "bob", "viewer").startswith("refused: bob is in the team already")


def test_whoever_needs_a_new_password_is_found_in_whichever_team_they_are(house):
    """As the first screen advises it, which knows of one team."""
    assert house.other_team.pk != house.team.pk

    for name in ("alice", "Charlie"):
        assert re.search(r"/studio/password/wr_link_[a-z2-7]{40}/", run("reset", name))


def test_an_invitation_is_withdrawn(only_team, client):
    link = re.search(r"/studio/join/\S+", run("invite", "dora", "viewer")).group(0)

    assert run("withdraw", "dora") == "The invitation of dora is withdrawn.\n"
    assert client.get(link).status_code == 404
