from django.urls import path

from traces_app.api import views

urlpatterns = [
    path("sessions/<str:session>/trace", views.SessionTraceView.as_view()),
    path("sessions/<str:session>/timeline", views.SessionTimelineView.as_view()),
    path("runs/<str:run>/trace", views.RunTraceView.as_view()),
    path("runs/<str:run>/timeline", views.RunTimelineView.as_view()),
]
