from django.db import migrations

# Where a path does not name pg_temp, it comes first: a role that may run a function of the owner could have made tables there
# under the names that the function reads, with triggers that the owner then ran.
NAMED = """
DO $$
DECLARE
    found regprocedure;
BEGIN
    FOR found IN
        SELECT p.oid FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'workrail\\_%'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', found, current_schema());
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0025_audit_logs_in_the_ledger"),
        ("teams_app", "0013_who_is_still_in"),
    ]

    operations = [migrations.RunSQL(NAMED, migrations.RunSQL.noop)]
