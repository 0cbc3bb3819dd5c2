"""The names under which the schedule asks for this app's work."""

KEEP_TRACES = "traces_app.tasks.keep_traces"
