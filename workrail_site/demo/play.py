"""Fills a team with two weeks of work, through the same services as everybody's."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sessions_app.services.upkeep.ledger import enter_sessions
from sessions_app.services.upkeep.tables import ensure_partitions
from teams_app import selectors
from teams_app.engine.actors import Actor, person_id_of
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.values import TeamValue
from teams_app.services.teams import create_team, rename_team
from traces_app.services.recording import flush_calls
from workrail_site.demo import stories
from workrail_site.demo.clock import Clock, Story
from workrail_site.demo.team import Cast, free_names, gather, leave_to_others, owner_of, publish, sign_in_again

TEAM = "Demo"
# As long as its work is not whole.
UNFINISHED = "Demo (unfinished)"
_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    team: str
    owner: str


def play_demo(*, system: Actor, now: datetime) -> Played:
    """A team of its own, owned by the owner of the first team; another one only where the last was given another name."""
    began = now - timedelta(days=_DAYS)
    # What an interrupted demo has left is as old as its work pretends to be, and may be nobody's.
    owner = selectors.find_first_owner(actor=system, without=UNFINISHED)
    if any(team.name == TEAM for team in selectors.list_own_teams(actor=owner)):
        raise PreconditionFailedError(
            f"There is a team {TEAM} already.", suggestion="Choose it at the top of the Studio, or rename it first."
        )
    team = _begin(system, owner, began=began, now=now)
    ensure_partitions(actor=system, today=began.date())
    owned = owner_of(team=team, system=system)
    cast = gather(owner=owned, names=free_names(system=system), now=began + timedelta(hours=1))
    clock = Clock(now=began)
    _publish_first(cast, began)
    _schedule(cast, clock, began=began, now=now)
    clock.run(until=now)
    sign_in_again(cast=cast, now=now)
    flush_calls()
    # The clock would come to them within a day: they are as old as they pretend to be.
    enter_sessions(actor=system, now=now, whole=True)
    rename_team(actor=owned, name=TEAM, now=now)
    return Played(team=TEAM, owner=cast.owner.name)


def _begin(system: Actor, owner: Actor, *, began: datetime, now: datetime) -> TeamValue:
    """What a demo that was interrupted has left is put away, unless nobody had joined it: then it is as good as new."""
    left = [team for team in selectors.list_own_teams(actor=owner) if team.name == UNFINISHED]
    for team in left:
        if not leave_to_others(owner=owner_of(team=team, system=system), now=now):
            return team
    return create_team(actor=system, name=UNFINISHED, owner_id=person_id_of(actor=owner), now=began)


def _publish_first(cast: Cast, began: datetime) -> None:
    publish(cast=cast, name="hotfix-1", message="As we have done it so far", now=began + timedelta(hours=2))
    publish(cast=cast, name="triage", message="The second try", now=began + timedelta(hours=3))
    publish(cast=cast, name="regression-check", message="", now=began + timedelta(hours=3))
    publish(cast=cast, name="release", message="With a check of the build", now=began + timedelta(hours=4))


def _revise(cast: Cast, clock: Clock) -> Story:
    """The workflow is changed on the way: runs that began before go on as they began, and a draft has problems."""
    publish(cast=cast, name="hotfix-2", message="Ask for the rollback in the notes", now=clock.now)
    yield 60 * 24 * 7.5
    publish(cast=cast, name="hotfix-3", message="Name the file in each round", now=clock.now, is_published=False)


def _schedule(cast: Cast, clock: Clock, *, began: datetime, now: datetime) -> None:
    clock.add(_revise(cast, clock), at=began + timedelta(days=6))
    for index, fix in enumerate(stories.DONE_FIXES):
        clock.add(stories.hotfix(cast, clock, fix), at=began + timedelta(days=1 + 1.7 * index, hours=3 * index % 7))
    for index, ticket in enumerate(stories.TICKETS[:-2]):
        clock.add(stories.triage(cast, clock, ticket), at=began + timedelta(days=2 + 1.5 * index, hours=index))
    for build, choice, days in (("4.11.0", "release", 3), ("4.12.0", "hold", 8), ("4.12.1", "canary", 11)):
        clock.add(stories.release(cast, clock, build, choice=choice), at=began + timedelta(days=days))
    for index, fix in enumerate(stories.FIXES):
        clock.add(stories.hotfix(cast, clock, fix), at=now - timedelta(minutes=60 + 47 * index))
    for index, ticket in enumerate(stories.TICKETS[-2:]):
        clock.add(stories.triage(cast, clock, ticket), at=now - timedelta(minutes=12 + 9 * index))
    clock.add(stories.release(cast, clock, "4.13.0"), at=now - timedelta(hours=5))
    clock.add(stories.release(cast, clock, "4.13.1"), at=now - timedelta(minutes=75))
    clock.add(stories.lost(cast, clock), at=now - timedelta(hours=7))
