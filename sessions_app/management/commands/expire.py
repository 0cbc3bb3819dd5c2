"""Deletes the sessions that are over their time, as the schedule does every hour. `--dry-run` only tells what would go."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from sessions_app.engine.expiry import ExpiryVerdict
from sessions_app.services.expiry.expiring import expire_sessions, foresee_expiry
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.ids import Prefix, to_text

_TOLD = frozenset(
    {ExpiryVerdict.EXPIRED, ExpiryVerdict.WARN, ExpiryVerdict.WARNED, ExpiryVerdict.HELD, ExpiryVerdict.WAITS}
)


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--most", type=int, default=10_000, help="delete at most so many")

    def handle(self, *_args: Any, **options: Any) -> None:
        actor, now = system_actor(team_id=NO_TEAM, door=Door.CLI), timezone.now()
        if options["dry_run"]:
            counts: Counter[str] = Counter()
            for judged in foresee_expiry(actor=actor, now=now):
                counts[judged.verdict.value] += 1
                if judged.verdict in _TOLD:
                    name = to_text(Prefix.SESSION, judged.known.root)
                    self.stdout.write(
                        f"{name} {judged.verdict.value}, idle since {judged.known.last_activity_at:%Y-%m-%d}"
                    )
        else:
            done = expire_sessions(actor=actor, now=now, most=options["most"])
            counts = Counter({verdict.value: count for verdict, count in done.verdicts.items()})
            self.stdout.write(f"{counted(done.deleted, 'session')} deleted.")
        self.stdout.write(", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "Nothing is idle.")
