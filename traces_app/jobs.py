"""The names under which this app's work is asked for, by the schedule and by the apps below."""

KEEP_TRACES = "traces_app.tasks.keep_traces"
FORGET_SESSIONS = "traces_app.tasks.forget_sessions"
