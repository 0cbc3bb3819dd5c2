"""What verify_store promises is planted in; of every other table docs/security.md says that no seal binds it."""

import re
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).parents[2]
PLANTINGS = (ROOT / "tests" / "services" / "test_plantings.py").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()
# Django's own, in which nothing of ours is kept: the permissions and groups that its accounts have, which nobody here reads.
UNUSED = {"auth_permission", "auth_group", "auth_group_permissions", "django_content_type", "django_admin_log"}


def test_every_table_is_planted_in_or_told_as_not_sealed():
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} - UNUSED
    planted = {table for table in tables if re.search(rf"\b{table}\b", PLANTINGS)}
    told = {table for table in tables if f"`{table}`" in SECURITY}

    assert len(planted) >= 15
    assert tables - planted - told == set()
    assert planted & told == set()
