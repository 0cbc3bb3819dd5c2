from django.urls import path

from sessions_app.api import runs, sessions

urlpatterns = [
    path("preferences", sessions.TeamPreferencesView.as_view()),
    path("sessions", sessions.SessionsView.as_view()),
    path("sessions/resume", sessions.ResumeView.as_view()),
    path("sessions/checkpoint", sessions.SessionNotesView.as_view()),
    path("sessions/<str:session>", sessions.SessionView.as_view()),
    path("sessions/<str:session>/runs", sessions.SessionRunsView.as_view()),
    path("sessions/<str:session>/events", sessions.SessionEventsView.as_view()),
    path("sessions/<str:session>/events/<str:index>", sessions.SessionEventView.as_view()),
    path("sessions/<str:session>/outputs", sessions.SessionOutputsView.as_view()),
    path("sessions/<str:session>/observations", sessions.ObservationsView.as_view()),
    path("sessions/<str:session>/preferences", sessions.SessionPreferencesView.as_view()),
    path("runs", runs.RunsView.as_view()),
    path("runs/continue", runs.ContinuationView.as_view()),
    path("runs/rehydrate", runs.RehydrationView.as_view()),
    path("runs/checkpoint", runs.CheckpointView.as_view()),
    path("runs/<str:run>", runs.RunView.as_view()),
    path("runs/<str:run>/tree", runs.TreeView.as_view()),
    path("runs/<str:run>/nodes", runs.NodesView.as_view()),
    path("runs/<str:run>/events", runs.RunEventsView.as_view()),
    path("runs/<str:run>/outputs", runs.RunOutputsView.as_view()),
    path("runs/<str:run>/gaps", runs.RunGapsView.as_view()),
    path("runs/<str:run>/preferences", runs.RunPreferencesView.as_view()),
    path("nodes/<str:node>", runs.NodeView.as_view()),
    path("gaps/<str:gap>/resolve", runs.GapResolutionView.as_view()),
]
