from django.db import migrations, models

# The role that serves requests sees the rows of one team at a time. What it tells of all of them it asks functions: how far
# work has come, for pages that watch it, and numbers of the installation.
FUNCTIONS = """
CREATE FUNCTION workrail_versions(sessions uuid[], teams uuid[]) RETURNS TABLE (id uuid, version text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT s.id, s.next_event_index || '.' ||
           (SELECT count(*) FROM sessions_app_checkpointrequest q WHERE q.session_id = s.id AND q.claimed_by <> '')
    FROM sessions_app_worksession s WHERE s.id = ANY(sessions)
    UNION ALL
    SELECT t.id, coalesce((SELECT extract(epoch FROM r.last_activity_at)::text || r.id::text FROM sessions_app_run r
                           WHERE r.team_id = t.id ORDER BY r.activity_window DESC, r.last_activity_at DESC, r.id LIMIT 1), '')
           || '.' || (SELECT count(*) || '.' || count(*) FILTER (WHERE q.claimed_by <> '')
                      FROM sessions_app_checkpointrequest q WHERE q.team_id = t.id AND q.state = 'open')
    FROM unnest(teams) AS t (id)
$$;

-- What Postgres has counted since its statistics were last reset says how many calls were answered: no row is read for it.
CREATE FUNCTION workrail_figures(now timestamptz) RETURNS TABLE (name text, value bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT 'runs ' || status, count(*) FROM sessions_app_run GROUP BY status
    UNION ALL SELECT 'questions open', count(*) FROM sessions_app_checkpointrequest WHERE state = 'open'
    UNION ALL SELECT 'questions overdue', count(*) FROM sessions_app_checkpointrequest WHERE state = 'open' AND due_at < now
    UNION ALL SELECT 'answered calls', coalesce(sum(n_tup_ins), 0)::bigint FROM pg_stat_user_tables
              WHERE relname = 'sessions_app_attempt'
    UNION ALL SELECT 'announcements waiting', count(*) FROM sessions_app_announcement
    UNION ALL SELECT 'bundle jobs open', count(*) FROM sessions_app_bundlejob WHERE finished_at IS NULL
$$;

-- What is looked for by words and letters. Of a table with a policy Postgres looks at the rows that may be seen before it
-- compares texts, and so by no index of texts; here it takes both at once. What is seen is the same.
CREATE VIEW sessions_app_searchedsession AS
SELECT id, team_id, title, ticket, git_branch, git_head_sha, last_activity_at, activity_window FROM sessions_app_worksession
WHERE (SELECT NOT row_security_active('sessions_app_worksession'))
OR team_id = (SELECT NULLIF(current_setting('workrail.team', true), '')::uuid);

CREATE VIEW sessions_app_searchedrun AS
SELECT id, team_id, session_id, goal, name, last_activity_at, activity_window FROM sessions_app_run
WHERE (SELECT NOT row_security_active('sessions_app_run'))
OR team_id = (SELECT NULLIF(current_setting('workrail.team', true), '')::uuid);

CREATE VIEW sessions_app_searchedoutput AS
SELECT id, team_id, session_id, run_id, channel, body, created_at FROM sessions_app_output
WHERE (SELECT NOT row_security_active('sessions_app_output'))
OR team_id = (SELECT NULLIF(current_setting('workrail.team', true), '')::uuid);

REVOKE ALL ON FUNCTION workrail_versions(uuid[], uuid[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION workrail_figures(timestamptz) FROM PUBLIC;
"""
NO_LONGER = """
DROP VIEW sessions_app_searchedsession;
DROP VIEW sessions_app_searchedrun;
DROP VIEW sessions_app_searchedoutput;
DROP FUNCTION workrail_versions(uuid[], uuid[]);
DROP FUNCTION workrail_figures(timestamptz);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0020_indexes_of_windows"),
    ]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_LONGER),
        migrations.CreateModel(
            name="SearchedRun",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("team_id", models.UUIDField()),
                ("session_id", models.UUIDField()),
                ("goal", models.CharField(max_length=2048)),
            ],
            options={"managed": False},
        ),
        migrations.CreateModel(
            name="SearchedSession",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("team_id", models.UUIDField()),
                ("title", models.CharField(max_length=256)),
                ("git_branch", models.CharField(max_length=256)),
            ],
            options={"managed": False},
        ),
    ]
