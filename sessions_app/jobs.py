"""The names under which the schedule asks for this app's work."""

ENSURE_PARTITIONS = "sessions_app.tasks.ensure_partitions"
