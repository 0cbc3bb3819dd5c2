import pytest

from workrail_site.local.marks import MIGRATED


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks/core.txt").write_text("django==5\n")
    (folder / "teams_app/migrations").mkdir(parents=True)
    (folder / "teams_app/migrations/0001_first.py").write_text("operations = []\n")
    return folder


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "postgres"
    folder.mkdir()
    return folder


def test_data_without_a_mark_waits_for_the_migrations(data, checkout):
    assert not MIGRATED.is_in(data, checkout=checkout)


def test_data_that_has_seen_these_migrations_need_not_wait(data, checkout):
    MIGRATED.write(data, checkout=checkout)

    assert MIGRATED.is_in(data, checkout=checkout)


@pytest.mark.parametrize(
    "name", ["teams_app/migrations/0002_second.py", "teams_app/migrations/0001_first.py", "locks/core.txt"]
)
def test_a_new_or_changed_migration_or_library_waits_again(data, checkout, name):
    MIGRATED.write(data, checkout=checkout)
    (checkout / name).write_text("changed = True\n")

    assert not MIGRATED.is_in(data, checkout=checkout)
