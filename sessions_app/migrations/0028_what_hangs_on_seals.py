from django.db import migrations, models


class Migration(migrations.Migration):
    """Postgres makes a text of it without looking at a row."""

    dependencies = [
        ("sessions_app", "0027_bundle_jobs_by_session"),
    ]

    operations = [
        migrations.AlterField(model_name="ledger", name="seal", field=models.TextField()),
    ]
