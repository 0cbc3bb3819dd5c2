from django.db import migrations

# The roles that serve requests and do upkeep own no table. What they need an owner for, they do through these, and only this.
FUNCTIONS = """
CREATE FUNCTION workrail_make_partition(parent text, name text, first text, last text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF parent NOT IN ('sessions_app_event', 'traces_app_traceevent') OR name !~ ('^' || parent || '_[0-9]{4}_[0-9]{2}$') THEN
        RAISE EXCEPTION '% is no partition of events', name USING ERRCODE = 'insufficient_privilege';
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent, first, last);
END $$;

-- A month of the trace goes whole; a month of the log only when no event is left in it.
CREATE FUNCTION workrail_drop_partition(name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    is_filled boolean := false;
BEGIN
    IF name !~ '^(sessions_app_event|traces_app_traceevent)_[0-9]{4}_[0-9]{2}$' THEN
        RAISE EXCEPTION '% is no partition of events', name USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF name LIKE 'sessions_app_event_%' THEN
        -- Locked before it is looked at: nobody fills it in between.
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO is_filled;
    END IF;
    IF NOT is_filled THEN
        EXECUTE format('DROP TABLE %I', name);
    END IF;
    RETURN NOT is_filled;
END $$;

-- The history of a session goes only when its team's ledger, which nobody can change, says that it does and why.
CREATE FUNCTION workrail_forget_session(forgotten uuid, born date) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    team uuid;
    events bigint;
BEGIN
    SELECT e.team_id INTO team FROM sessions_app_ledgerentry e
    JOIN sessions_app_worksession s ON s.id = e.session_id AND s.team_id = e.team_id
    WHERE e.session_id = forgotten AND e.kind = 'deleted';
    IF team IS NULL THEN
        RAISE EXCEPTION 'the ledger does not say that session % is deleted', forgotten USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('workrail.expiry', 'on', true);
    DELETE FROM sessions_app_node WHERE run_id IN (SELECT id FROM sessions_app_run WHERE session_id = forgotten);
    DELETE FROM sessions_app_gap WHERE run_id IN (SELECT id FROM sessions_app_run WHERE session_id = forgotten);
    DELETE FROM sessions_app_checkpointrequest WHERE run_id IN (SELECT id FROM sessions_app_run WHERE session_id = forgotten);
    DELETE FROM sessions_app_handle WHERE run_id IN (SELECT id FROM sessions_app_run WHERE session_id = forgotten);
    DELETE FROM sessions_app_attempt WHERE session_id = forgotten;
    DELETE FROM sessions_app_output WHERE team_id = team AND session_id = forgotten;
    DELETE FROM sessions_app_event WHERE born_on = born AND session_id = forgotten;
    GET DIAGNOSTICS events = ROW_COUNT;
    DELETE FROM sessions_app_run WHERE session_id = forgotten;
    DELETE FROM sessions_app_worksession WHERE id = forgotten;
    PERFORM set_config('workrail.expiry', '', true);
    RETURN events;
END $$;

-- A transaction that deletes history says so; one that may delete it at all is a matter of its role.
CREATE OR REPLACE FUNCTION sessions_app_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('workrail.expiry', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The log is append-only: an event is neither changed nor deleted.'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

REVOKE ALL ON FUNCTION workrail_make_partition(text, text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION workrail_drop_partition(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION workrail_forget_session(uuid, date) FROM PUBLIC;
"""
NO_LONGER = """
DROP FUNCTION workrail_make_partition(text, text, text, text);
DROP FUNCTION workrail_drop_partition(text);
DROP FUNCTION workrail_forget_session(uuid, date);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0011_expiry'),
    ]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_LONGER),
    ]
