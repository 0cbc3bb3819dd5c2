from django.db import migrations

# Open pages are of people of many teams, and the role that serves them sees one team at a time: of each it asks by name.
FUNCTION = """
CREATE FUNCTION workrail_members(people uuid[], teams uuid[]) RETURNS TABLE (person_id uuid, team_id uuid, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT m.person_id, m.team_id, m.role::text FROM unnest(people, teams) AS asked (person_id, team_id)
    JOIN teams_app_membership m ON m.person_id = asked.person_id AND m.team_id = asked.team_id
    JOIN teams_app_person p ON p.id = m.person_id AND p.is_active
$$;

REVOKE ALL ON FUNCTION workrail_members(uuid[], uuid[]) FROM PUBLIC;
"""
NO_LONGER = "DROP FUNCTION workrail_members(uuid[], uuid[]);"


class Migration(migrations.Migration):
    dependencies = [
        ("teams_app", "0012_named_requests"),
    ]

    operations = [migrations.RunSQL(FUNCTION, NO_LONGER)]
