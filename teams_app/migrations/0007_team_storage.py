import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("teams_app", "0006_endpoints")]

    operations = [
        migrations.CreateModel(
            name="TeamStorage",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="teams_app.team",
                    ),
                ),
                ("stored_bytes", models.BigIntegerField()),
                ("measured_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "team storage",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("stored_bytes__gte", 0)), name="team_storage_is_no_debt"
                    ),
                ],
            },
        ),
    ]
