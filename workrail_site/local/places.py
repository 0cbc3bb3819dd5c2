"""Where things are kept: the checkout, the home with the data, and the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workrail_site.local.problems import SetupProblem

CHECKOUT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    checkout: Path
    home: Path

    @property
    def claim(self) -> Path:
        """Locked by whoever uses the embedded servers."""
        return self.home / "claim.json"

    @property
    def keys(self) -> Path:
        return self.home / "keys.json"

    @property
    def redis_data(self) -> Path:
        return self.home / "valkey"

    @property
    def postgres_pointer(self) -> Path:
        """Names the folder of the cluster where the home itself is out of reach for the server's account."""
        return self.home / "postgres-is-in"

    @property
    def static_files(self) -> Path:
        """Collected from the checkout: compressed, under names that hold what is in them."""
        return self.home / "static"

    @property
    def beat_schedule(self) -> Path:
        return self.home / "celerybeat-schedule"


def find_places(*, environ: Mapping[str, str], checkout: Path = CHECKOUT) -> Places:
    named = environ.get("WORKRAIL_HOME", "").strip()
    home = Path(named).expanduser().resolve() if named else checkout / ".workrail"
    return Places(checkout=checkout, home=home)


def is_writable(folder: Path) -> bool:
    """Whether something can be made in the folder, or the folder itself can be made."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def prepare_home(places: Places) -> None:
    """Makes the home when it is missing. As root it may be passed through (not read) by the account of Postgres."""
    if not is_writable(places.home):
        raise SetupProblem(
            f"the folder {places.home} cannot be written, and the data has to live somewhere.",
            next_move="name a folder that can: WORKRAIL_HOME=~/workrail ./workrail up",
        )
    if not places.home.exists():
        places.home.mkdir(parents=True)
        places.home.chmod(0o711 if os.geteuid() == 0 else 0o700)
