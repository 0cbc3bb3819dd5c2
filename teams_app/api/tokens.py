"""Tokens of people by REST: listed and ended by whoever they are of, made by who has signed in."""

from rest_framework.views import APIView

from teams_app import selectors
from teams_app.api.endpoints import Call, operation, read_id
from teams_app.api.token_shapes import IssuedTokenAnswer, TokenAnswer, TokenBody
from teams_app.engine.ids import Prefix
from teams_app.engine.pages import Page
from teams_app.services import tokens


class TokensView(APIView):
    @operation(summary="My tokens in this team, the newest first; for owners those of all members")
    def get(self, *, call: Call) -> Page[TokenAnswer]:
        return selectors.list_tokens(actor=call.actor, page=call.page).map(TokenAnswer.of)

    @operation(summary="Make a token of mine; its text is shown this once. For signed-in people", status=201)
    def post(self, *, call: Call, body: TokenBody) -> IssuedTokenAnswer:
        issued = tokens.issue_token(
            actor=call.actor,
            name=body.name,
            scopes=frozenset(body.scopes),
            expires_at=body.expires_at,
            now=call.now,
        )
        return IssuedTokenAnswer.of(issued)


class TokenView(APIView):
    @operation(summary="One token")
    def get(self, *, call: Call, token: str) -> TokenAnswer:
        token_id = read_id(prefix=Prefix.TOKEN, text=token)
        return TokenAnswer.of(selectors.read_token(actor=call.actor, token_id=token_id))


class TokenRevocationView(APIView):
    @operation(summary="Revoke a token for good: one's own, or for owners anybody's of the team")
    def post(self, *, call: Call, token: str) -> TokenAnswer:
        token_id = read_id(prefix=Prefix.TOKEN, text=token)
        return TokenAnswer.of(tokens.revoke_token(actor=call.actor, token_id=token_id, now=call.now))
