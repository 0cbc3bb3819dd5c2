"""The words before `<str:workflow>` are no alias that a team may set: `services.extensions` keeps them back."""

from django.urls import path

from workflows_app.api import held, views

urlpatterns = [
    path("workflows", views.WorkflowsView.as_view()),
    path("workflows/validate", views.ValidationView.as_view()),
    path("workflows/import", views.ImportView.as_view()),
    path("workflows/contracts", views.ContractsView.as_view()),
    path("workflows/contracts/<str:contract>", views.ContractView.as_view()),
    path("workflows/bindings", views.BindingsView.as_view()),
    path("workflows/aliases", held.AliasesView.as_view()),
    path("workflows/aliases/<str:alias>", views.AliasView.as_view()),
    path("workflows/<str:workflow>", views.WorkflowView.as_view()),
    path("workflows/<str:workflow>/publish", views.PublicationView.as_view()),
    path("workflows/<str:workflow>/retire", views.RetirementView.as_view()),
    path("workflows/<str:workflow>/fork", views.ForkView.as_view()),
    path("workflows/<str:workflow>/revisions", views.RevisionsView.as_view()),
    path("workflows/<str:workflow>/diff", views.DiffView.as_view()),
    path("workflows/<str:workflow>/export", views.ExportView.as_view()),
    path("workflows/<str:workflow>/simulate", held.SimulationView.as_view()),
    path("workflows/<str:workflow>/<str:held>", held.AttachmentsView.as_view()),
    path("workflows/<str:workflow>/<str:held>/<path:name>", held.AttachmentView.as_view()),
]
