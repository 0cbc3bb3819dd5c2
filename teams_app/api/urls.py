from django.urls import path

from teams_app.api import notices, tokens, views

urlpatterns = [
    path("whoami", views.WhoamiView.as_view()),
    path("teams", views.TeamsView.as_view()),
    path("teams/<str:team>", views.TeamView.as_view()),
    path("members", views.MembersView.as_view()),
    path("members/<str:member>", views.MemberView.as_view()),
    path("members/<str:member>/password-link", views.PasswordLinkView.as_view()),
    path("invitations", views.InvitationsView.as_view()),
    path("invitations/<str:invitation>", views.InvitationView.as_view()),
    path("keys", views.KeysView.as_view()),
    path("keys/<str:key>", views.KeyView.as_view()),
    path("keys/<str:key>/revoke", views.KeyRevocationView.as_view()),
    path("keys/<str:key>/rotate", views.KeyRotationView.as_view()),
    path("tokens", tokens.TokensView.as_view()),
    path("tokens/<str:token>", tokens.TokenView.as_view()),
    path("tokens/<str:token>/revoke", tokens.TokenRevocationView.as_view()),
    path("webhook", views.WebhookView.as_view()),
    path("endpoints", notices.EndpointsView.as_view()),
    path("endpoints/<str:endpoint>", notices.EndpointView.as_view()),
    path("endpoints/<str:endpoint>/switch-on", notices.EndpointSwitchView.as_view()),
    path("endpoints/<str:endpoint>/deliveries", notices.DeliveriesView.as_view()),
    path("deliveries/<str:delivery>/redeliver", notices.RedeliveryView.as_view()),
    path("audit", views.AuditView.as_view()),
]
