from django.db import migrations, models


class Migration(migrations.Migration):
    """Of each team one worker at a time does what is asked of workers for it."""

    dependencies = [
        ("teams_app", "0015_what_hangs_on_seals"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkTurn",
            fields=[
                ("pk", models.CompositePrimaryKey("team_id", "work", blank=True, editable=False, primary_key=True, serialize=False)),
                ("team_id", models.UUIDField()),
                ("work", models.CharField(max_length=16)),
                ("asked_until", models.DateTimeField(null=True)),
                ("held_until", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("work__in", ["notices", "mails", "announcements"])), name="work_turn_known")],
            },
        ),
    ]
