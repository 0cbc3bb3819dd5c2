import pytest

from workrail_site.local.marks import COLLECTED


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    for name in ("locks/core.txt", "workrail_site/settings.py", "static/studio.css"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("first\n")
    return folder


@pytest.fixture
def collected(tmp_path, checkout):
    folder = tmp_path / "static"
    folder.mkdir()
    COLLECTED.write(folder, checkout=checkout)
    return folder


def test_files_that_were_collected_are_not_collected_again(collected, checkout):
    assert COLLECTED.is_in(collected, checkout=checkout)


@pytest.mark.parametrize("name", ["static/new.js", "static/studio.css", "workrail_site/settings.py", "locks/core.txt"])
def test_a_new_or_changed_file_setting_or_library_is_collected(collected, checkout, name):
    (checkout / name).write_text("changed\n")

    assert not COLLECTED.is_in(collected, checkout=checkout)


def test_a_file_that_has_gone_is_collected_no_more(collected, checkout):
    (checkout / "static/studio.css").unlink()

    assert not COLLECTED.is_in(collected, checkout=checkout)


def test_what_ends_halfway_does_not_count(collected, checkout):
    COLLECTED.remove(collected)

    assert not COLLECTED.is_in(collected, checkout=checkout)
