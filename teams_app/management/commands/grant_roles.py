"""Gives the roles that serve requests and do upkeep what they need and no more. Run it as the owner, after each migration.

The role of requests owns nothing, and of history it may only add and read. Roles that are not there are made when a password for
them is set and the owner may make roles; otherwise they are passed over, and DATABASE_URL is the owner's as before.
"""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from teams_app.services.roles import grant_roles


class Command(BaseCommand):
    help = __doc__ or ""

    def handle(self, *_args: Any, **_options: Any) -> None:
        for name, is_there in grant_roles(passwords=settings.ROLE_PASSWORDS).items():
            said = "has what it needs" if is_there else "is not there; nothing was granted"
            self.stdout.write(f"The role {name} {said}.")
