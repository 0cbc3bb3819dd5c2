"""Trace tokens: a short signed name of a stretch of one run. It holds no event; whoever asks must be of the run's team.

The payload is the run's id and two moments, in milliseconds since the run was born, of five bytes each (34 years). Calls belong
to the stretch in which they ended, so stretches that follow one another hold each call once, and the call that mints a
token is told by the next one.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.engine.tokens import Keyring, TokenKind, mint, read
from teams_app.engine.ids import birth_ms

_MOMENT_BYTES = 5
_LAST_MOMENT = (1 << 8 * _MOMENT_BYTES) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """From the first millisecond up to, and without, the last one; both of Unix time."""

    run_id: UUID
    from_ms: int
    until_ms: int

    @property
    def first_id(self) -> UUID:
        """No row that ended in the stretch has a smaller id."""
        return smallest_id(unix_ms=self.from_ms)

    @property
    def end_id(self) -> UUID:
        return smallest_id(unix_ms=self.until_ms)


def mint_trace_token(*, keyring: Keyring, run_id: UUID, since: datetime, until: datetime) -> str:
    """The same run and moments give the same token, so a replayed transition prints what it printed before."""
    born = birth_ms(run_id)
    first, last = _moment(since, born), _moment(until, born)
    nonce = first.to_bytes(_MOMENT_BYTES, "big") + max(first, last).to_bytes(_MOMENT_BYTES, "big")
    return mint(keyring=keyring, kind=TokenKind.TRACE, node_id=run_id, nonce=nonce)


def read_trace_token(*, keyring: Keyring, text: str) -> Stretch:
    """Raises one of the `TOKEN_*` errors. A token of a retired key is read: it opens nothing that its team may not see."""
    token = read(keyring=keyring, kind=TokenKind.TRACE, text=text)
    born = birth_ms(token.node_id)
    first, last = token.nonce[:_MOMENT_BYTES], token.nonce[_MOMENT_BYTES:]
    return Stretch(
        run_id=token.node_id,
        from_ms=born + int.from_bytes(first, "big"),
        until_ms=born + int.from_bytes(last, "big"),
    )


def smallest_id(*, unix_ms: int) -> UUID:
    """Below every UUIDv7 of that millisecond and of later ones."""
    return UUID(int=max(0, unix_ms) << 80)


def _moment(at: datetime, born: int) -> int:
    return min(max(0, int(at.timestamp() * 1000) - born), _LAST_MOMENT)
