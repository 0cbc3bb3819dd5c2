from django.db import migrations, models

_OWN = ("event_id", "kind", "dedupe")
_ALONE = "born_on, session_id, dedupe"


class Migration(migrations.Migration):
    """A row holds the events of a transition. What it had beside the body of one is left empty, and nothing keeps or checks it:
    Postgres reads the text of every check anew for every statement, and the kinds of events were the longest.

    Only what the table demands changes: no row is read or written, and rows of before are packs of one.
    """

    dependencies = [
        ('sessions_app', '0021_of_all_teams'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name='event', name='event_says_once'),
                migrations.RemoveConstraint(model_name='event', name='event_kind_known'),
                migrations.AddField(model_name='event', name='count', field=models.PositiveSmallIntegerField(db_default=1)),
                migrations.AlterField(model_name='event', name='event_id', field=models.UUIDField(null=True)),
                migrations.AlterField(model_name='event', name='kind', field=models.CharField(max_length=40, null=True)),
                migrations.AlterField(model_name='event', name='dedupe', field=models.CharField(max_length=256, null=True)),
            ],
            database_operations=[
                migrations.RunSQL(
                    sql=[
                        "ALTER TABLE sessions_app_event ADD COLUMN IF NOT EXISTS count smallint NOT NULL DEFAULT 1 "
                        "CONSTRAINT event_count_positive CHECK (count > 0)",
                        *(f"ALTER TABLE sessions_app_event ALTER COLUMN {name} DROP NOT NULL" for name in _OWN),
                        "ALTER TABLE sessions_app_event DROP CONSTRAINT event_says_once",
                        "ALTER TABLE sessions_app_event DROP CONSTRAINT event_kind_known",
                    ],
                    reverse_sql=[
                        # Rows that are packs have no kind, and nobody reads the kinds of others.
                        "ALTER TABLE sessions_app_event ADD CONSTRAINT event_kind_known CHECK (kind <> '') NOT VALID",
                        f"ALTER TABLE sessions_app_event ADD CONSTRAINT event_says_once UNIQUE ({_ALONE})",
                        *(f"ALTER TABLE sessions_app_event ALTER COLUMN {name} SET NOT NULL" for name in _OWN),
                        "ALTER TABLE sessions_app_event DROP COLUMN count",
                    ],
                ),
            ],
        ),
    ]
