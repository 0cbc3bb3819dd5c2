"""`./workrail tokens …`: what it prints, and what it leaves."""

import io
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from teams_app.engine.actors import TokenScope

pytestmark = pytest.mark.django_db


def run(*arguments):
    from django.core.management import CommandError, call_command

    out = io.StringIO()
    try:
        call_command("tokens", *arguments, stdout=out)
    except CommandError as error:
        return f"refused: {error}"
    return out.getvalue()


@pytest.fixture
def issued(house):
    from teams_app.services.tokens import issue_token

    now = timezone.now()
    house.charlie.membership.delete()
    house.other_team.delete()
    scopes = frozenset({TokenScope.ANSWER})
    return issue_token(actor=house.bob.actor, name="laptop", scopes=scopes, expires_at=now + timedelta(days=9), now=now)


def test_whoever_runs_the_server_sees_and_ends_tokens_and_never_their_text(issued):
    told = run("list")
    token_id = re.match(r"pat_[a-z2-7]{26}", told).group()

    assert f"{issued.token.prefix}…  laptop  of bob  read, answer  until " in told
    assert issued.text not in told
    assert run("revoke", token_id) == "laptop is revoked.\n"
    assert run("list").endswith("revoked\n")
    assert run("revoke", "pat_x").startswith("refused: There is no such token.")


def test_whoever_runs_the_server_says_whether_tokens_answer(issued, house):
    assert run("answer", "on").endswith("and their tokens.\n")
    house.team.refresh_from_db()
    assert house.team.tokens_answer_human is True
    assert run("answer", "off").endswith("and nobody else.\n")
