from typing import Any

from django.core.management.base import BaseCommand

from workrail_site.contracts import CONTRACTS, contract_path


class Command(BaseCommand):
    help = "Writes the wire contracts under docs/contracts. Commit what changes, and say so in the changelog."

    def handle(self, *_args: Any, **_options: Any) -> None:
        for name, write in CONTRACTS.items():
            contract_path(name=name).write_bytes(write())
            self.stdout.write(str(contract_path(name=name)))
