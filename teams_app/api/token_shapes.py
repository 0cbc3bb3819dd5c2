"""What the endpoints of people's tokens are sent and answer."""

from typing import Annotated

import msgspec

from teams_app.api.endpoints import Shape
from teams_app.api.shapes import Moment, Name
from teams_app.engine.actors import TokenScope
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.values import IssuedToken, TokenValue


class TokenBody(Shape, frozen=True):
    """Without scopes a token only reads. It ends within 366 days."""

    name: Name
    expires_at: Moment
    scopes: Annotated[list[TokenScope], msgspec.Meta(max_length=len(TokenScope))] = msgspec.field(default_factory=list)


class TokenAnswer(Shape, frozen=True):
    """`person` is whose token it is; owners see those of all members."""

    id: str
    person: str
    name: str
    prefix: str
    scopes: list[TokenScope]
    created_at: Moment
    expires_at: Moment
    last_used_at: Moment | None
    revoked_at: Moment | None

    @staticmethod
    def of(value: TokenValue) -> "TokenAnswer":
        return TokenAnswer.taken(
            value,
            id=to_text(Prefix.TOKEN, value.id),
            person=to_text(Prefix.PERSON, value.person_id),
            scopes=sorted(value.scopes),
        )


class IssuedTokenAnswer(Shape, frozen=True):
    """`text` is the token itself, shown this once."""

    token: TokenAnswer
    text: str

    @staticmethod
    def of(value: IssuedToken) -> "IssuedTokenAnswer":
        return IssuedTokenAnswer(token=TokenAnswer.of(value.token), text=value.text)
