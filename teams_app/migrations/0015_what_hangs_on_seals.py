from django.db import migrations, models


class Migration(migrations.Migration):
    """Postgres makes a text of it without looking at a row."""

    dependencies = [
        ("teams_app", "0014_teams_end"),
    ]

    operations = [
        migrations.AlterField(model_name="audithead", name="seal", field=models.TextField()),
    ]
