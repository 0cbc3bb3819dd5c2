"""Checks a bundle, or the folder of a team, without a server or a database: every digest, the chain of each log, and who signed it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.services.bundles.files import open_bundle, verify_bundle
from sessions_app.services.expiry.leaving import verify_folder
from teams_app.engine.counting import counted
from teams_app.engine.errors import WorkrailError

_SIGNER = "--signer"


class Command(BaseCommand):
    help = __doc__ or ""
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """A public key may begin with a hyphen, and would be taken for an option."""
        given = list(argv)
        if _SIGNER in given[:-1]:
            at = given.index(_SIGNER)
            given[at : at + 2] = [f"{_SIGNER}={given[at + 1]}"]
        super().run_from_argv(given)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a bundle, a gzipped one, or a folder of ./workrail teams export")
        parser.add_argument(_SIGNER, default="", help="the public key that must have signed it")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            signer = self._folder(options["file"]) if options["file"].is_dir() else self._bundle(options["file"])
        except WorkrailError as error:
            raise CommandError(f"{error.code}: {error.message} {error.suggestion or ''}".strip()) from error
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        self.stdout.write(f"Signed by {signer}")
        if options["signer"] and options["signer"] != signer:
            raise CommandError(f"It was not signed by {options['signer']}.")

    def _bundle(self, path: Path) -> str:
        with path.open("rb") as file, open_bundle(file) as source:
            found = verify_bundle(source=source)
        producer = found.preamble.producer
        self.stdout.write(
            f"{found.preamble.bundle_id}: {counted(len(found.sessions), 'session')} with {counted(found.event_count, 'event')}, exported "
            f"{found.preamble.exported_at} by {producer.application} {producer.version}."
        )
        for session in found.sessions:
            self.stdout.write(
                f"{session.head.session_id} ends at event {session.at.next_index - 1}, {session.at.digest}"
            )
        return found.seal.signer

    def _folder(self, path: Path) -> str:
        found = verify_folder(folder=path)
        manifest = found.manifest
        self.stdout.write(
            f"{manifest.team}: {counted(len(manifest.files), 'file')}, exported {manifest.exported_at} by "
            f"{manifest.producer.application} {manifest.producer.version}."
        )
        for name in manifest.not_vouched_for:
            self.stdout.write(f"Nobody vouches for {name}: it was not what was once written.")
        return found.signer
