"""The acts on tokens of people, and on whether they answer what asks for a person."""

from datetime import timedelta

from django import forms

from teams_app.admin import words
from teams_app.admin.acts import ENDS, row_id_of
from teams_app.admin.pages import Act, Done, Order, Secret
from teams_app.engine.actors import Permission, TokenScope
from teams_app.engine.names import NAME_CHARACTERS
from teams_app.services import teams, tokens

_TOKEN_SCOPES = [(scope.value, words.hinted(may, hint)) for scope, (may, hint) in words.TOKEN_SCOPES.items()]


class TokenForm(forms.Form):
    name = forms.CharField(max_length=NAME_CHARACTERS, help_text="What will use it, and where.")
    scopes = forms.MultipleChoiceField(
        choices=_TOKEN_SCOPES,
        label="Beside reading it may",
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="Never more than your role.",
    )
    ends = forms.ChoiceField(choices=ENDS[:-1], label="It ends", initial="90")


def _issue_token(order: Order) -> Done:
    issued = tokens.issue_token(
        actor=order.actor,
        name=order.values["name"],
        scopes=frozenset(TokenScope(scope) for scope in order.values["scopes"]),
        expires_at=order.now + timedelta(days=int(order.values["ends"])),
        now=order.now,
    )
    hint = "Copy it now: it is kept nowhere and cannot be shown again. Whoever has it acts as you."
    return Done(
        message=f"The token {issued.token.name} was made.",
        secret=Secret(label="Token", text=issued.text, hint=hint),
    )


def _revoke_token(order: Order) -> Done:
    token = tokens.revoke_token(actor=order.actor, token_id=row_id_of(order), now=order.now)
    return Done(message=f"The token {token.name} is revoked.")


def _let_tokens_answer(order: Order) -> Done:
    teams.change_team(actor=order.actor, tokens_answer_human=True, now=order.now)
    return Done(message="Tokens answer questions for people from now on.")


def _let_tokens_not_answer(order: Order) -> Done:
    teams.change_team(actor=order.actor, tokens_answer_human=False, now=order.now)
    return Done(message="Questions for people are answered by people who have signed in, and nobody else.")


ISSUE_TOKEN = Act(
    slug="issue",
    label="Make a token",
    question="A program that has the token acts as you in this team, as far as its scopes go.",
    needs=Permission.READ_TEAM,
    run=_issue_token,
    form=TokenForm,
    on_row=False,
    is_main=True,
)
REVOKE_TOKEN = Act(
    slug="revoke",
    is_stop=True,
    label="Revoke",
    question="Whoever uses this token is refused from now on. It cannot be undone.",
    needs=Permission.READ_TEAM,
    run=_revoke_token,
    offered=lambda _actor, row: row.revoked_at is None,
)
LET_TOKENS_ANSWER = Act(
    slug="tokens-answer",
    label="Let tokens answer",
    question="A program that has a member's token then gives answers that ask for a person, as that member. Each is marked.",
    needs=Permission.MANAGE_TEAM,
    run=_let_tokens_answer,
    offered=lambda _actor, row: not row.tokens_answer_human,
)
LET_TOKENS_NOT_ANSWER = Act(
    slug="tokens-do-not-answer",
    label="Let no token answer",
    question="What asks for a person is then answered by people who have signed in, and nobody else.",
    needs=Permission.MANAGE_TEAM,
    run=_let_tokens_not_answer,
    offered=lambda _actor, row: row.tokens_answer_human,
)
