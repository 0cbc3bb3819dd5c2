from django.apps import AppConfig

from workrail_site.mcp import sdk_names


class McpConfig(AppConfig):
    """Stands before `mcp_server` in INSTALLED_APPS, which cannot be imported before the names that it knows are back."""

    name = "workrail_site.mcp"
    label = "workrail_mcp"
    restored = sdk_names.FastMCP
