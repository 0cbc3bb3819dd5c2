from django.db import migrations

FORWARD = """
CREATE FUNCTION teams_app_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON teams_app_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION teams_app_refuse_audit_change();
"""

BACKWARD = """
DROP TRIGGER audit_append_only ON teams_app_auditentry;
DROP FUNCTION teams_app_refuse_audit_change();
"""


class Migration(migrations.Migration):
    dependencies = [("teams_app", "0001_people_teams_keys_audit")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
