"""A storm in small: everything dies once or twice under agents and a person, and nothing that was answered is lost."""

import os

import pytest

from workrail_site.storms.faults import kinds_of
from workrail_site.storms.site import own_site
from workrail_site.storms.storm import live_through

pytestmark = pytest.mark.slow

AGENTS = 5
AT_A_TIME = 8
# After so long the storm at hand is the last. What holds is judged by what is stored, never by the clock.
SECONDS = 100


def test_nothing_that_was_answered_is_lost_doubled_or_told_otherwise(tmp_path):
    with own_site(os.environ, agents=AGENTS, words=tmp_path) as (site, stage):
        seen = live_through(
            site=site,
            stage=stage,
            kills=len(kinds_of(site)) + 1,
            at_a_time=AT_A_TIME,
            seed=20261119,
            seconds=SECONDS,
            tell=print,
        )
    print(seen.told())

    assert seen.findings == []
    assert seen.kills.total() >= AT_A_TIME
    assert seen.answered > 0
    assert seen.repeats >= seen.answered
    assert seen.failures > 0
