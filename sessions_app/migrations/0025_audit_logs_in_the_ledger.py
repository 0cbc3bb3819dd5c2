from django.db import migrations, models

_KINDS = ['begun', 'adopted', 'deleted', 'team', 'audit']


class Migration(migrations.Migration):
    """The ledger of the installation tells of audit logs. The check only widens, so no row has to be looked at."""

    dependencies = [
        ('sessions_app', '0024_who_set_team_preferences'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name='ledgerentry', name='ledger_entry_kind_known'),
                migrations.AddConstraint(
                    model_name='ledgerentry',
                    constraint=models.CheckConstraint(condition=models.Q(('kind__in', _KINDS)), name='ledger_entry_kind_known'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    sql=[
                        "ALTER TABLE sessions_app_ledgerentry DROP CONSTRAINT IF EXISTS ledger_entry_kind_known",
                        "ALTER TABLE sessions_app_ledgerentry ADD CONSTRAINT ledger_entry_kind_known "
                        "CHECK (kind IN ('begun', 'adopted', 'deleted', 'team', 'audit')) NOT VALID",
                    ],
                    reverse_sql=migrations.RunSQL.noop,
                ),
            ],
        ),
    ]
