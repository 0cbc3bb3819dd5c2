"""Ids are unique, and ascend as they are made."""

from concurrent.futures import ThreadPoolExecutor

from teams_app.engine.ids import birth_ms
from tests.cast import LATER, NOW


def test_ids_of_one_millisecond_ascend_in_the_order_of_their_making():
    from teams_app.services.ids import new_id

    made = [new_id(now=NOW) for _ in range(10_000)]

    assert made == sorted(made)
    assert len(set(made)) == 10_000
    assert {birth_ms(one) for one in made} == {int(NOW.timestamp() * 1000)}
    assert {one.version for one in made} == {7}


def test_ids_of_two_moments_share_no_chance():
    from teams_app.services.ids import new_id

    assert new_id(now=NOW).int & (2**61 - 1) != new_id(now=LATER).int & (2**61 - 1)


def test_threads_never_get_the_same_id():
    from teams_app.services.ids import new_id

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: new_id(now=NOW), range(4000)))

    assert len(set(made)) == 4000
