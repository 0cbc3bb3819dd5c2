from django.db import migrations, models

APPEND_ONLY = """
CREATE FUNCTION sessions_app_ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The ledger is append-only: an entry is neither changed nor deleted.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON sessions_app_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION sessions_app_ledger_is_append_only();
"""
NO_LONGER = """
DROP TRIGGER ledger_is_append_only ON sessions_app_ledgerentry;
DROP FUNCTION sessions_app_ledger_is_append_only();
"""


class Migration(migrations.Migration):
    """Heads and transitions are sealed, and teams have ledgers. What a release before has written has no seal."""

    dependencies = [
        ('sessions_app', '0007_bundle_jobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='worksession',
            name='head_seal',
            field=models.CharField(blank=True, db_default='', max_length=64),
        ),
        migrations.AddField(
            model_name='event',
            name='seal',
            field=models.TextField(null=True),
        ),
        migrations.CreateModel(
            name='Ledger',
            fields=[
                ('team_id', models.UUIDField(primary_key=True, serialize=False)),
                ('next_number', models.PositiveIntegerField()),
                ('head_digest', models.CharField(max_length=71)),
                ('entered_until', models.DateTimeField()),
                ('seal', models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('pk', models.CompositePrimaryKey('team_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('team_id', models.UUIDField()),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=16)),
                ('session_id', models.UUIDField()),
                ('next_event_index', models.PositiveIntegerField()),
                ('head_digest', models.CharField(max_length=71)),
                ('reason', models.CharField(blank=True, max_length=256)),
                ('entered_at', models.DateTimeField()),
                ('digest', models.CharField(max_length=71)),
                ('seal', models.CharField(max_length=64)),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('kind__in', ['begun', 'adopted', 'deleted', 'team'])), name='ledger_entry_kind_known'),
                    models.UniqueConstraint(fields=('team_id', 'session_id', 'kind'), name='ledger_entry_once'),
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, NO_LONGER),
    ]
