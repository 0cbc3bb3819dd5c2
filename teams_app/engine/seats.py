"""The place of a person in a team, in a role, signed in: by it they are let in, and it may end while a page of theirs is open."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from teams_app.engine.actors import Actor, Role, person_id_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    person_id: UUID
    team_id: UUID
    role: str
    # Known to the browser and to us, and told to no page.
    session_key: str = ""

    @classmethod
    def of(cls, *, actor: Actor) -> Self:
        return cls(person_id=person_id_of(actor=actor), team_id=actor.team_id, role=Role(actor.role or "").value)

    @classmethod
    def told(cls, text: str, *, session_key: str) -> Self:
        person_id, team_id, role = text.split()
        return cls(person_id=UUID(person_id), team_id=UUID(team_id), role=role, session_key=session_key)

    @property
    def text(self) -> str:
        return f"{self.person_id} {self.team_id} {self.role}"
