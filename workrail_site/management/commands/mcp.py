"""Serves a dialect to a client that speaks by lines: `mcp --dialect rail`, or `mcp --url https://…` for another server."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from workrail_site.mcp.stdio import bridge, command


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        command.add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["url"]:
            sys.exit(bridge.pass_on(url=options["url"], reply=options["reply"], key=settings.AGENT_KEY))
        sys.exit(
            command.serve_dialect(
                dialect=options["dialect"], reply=options["reply"], key=settings.AGENT_KEY, prepare=lambda: None
            )
        )
