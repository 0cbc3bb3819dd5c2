"""Keys that were changed so long ago that what they signed is trusted no longer, but for the one before the last."""

import os
from datetime import timedelta

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.workflow_cast import NOW

LONG_AGO = NOW - timedelta(days=2000)


def rotate_long_ago(times=1):
    from sessions_app.models import TokenKey
    from sessions_app.services.store import signing_keys

    for _ in range(times):
        turn = TokenKey.objects.count()
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        signing_keys.rotate_keys(actor=actor, now=LONG_AGO + timedelta(days=turn), entropy=os.urandom)
