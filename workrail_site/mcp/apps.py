import pkgutil
from importlib import import_module

from django.apps import AppConfig

from workrail_site import dialects
from workrail_site.mcp import sdk_names

# Before `mcp_server`, which follows in INSTALLED_APPS and needs them to be importable at all.
RESTORED = sdk_names.FastMCP


class McpConfig(AppConfig):
    name = "workrail_site.mcp"
    label = "workrail_mcp"

    def ready(self) -> None:
        """Every dialect declares its toolset; django-mcp-server, which is next, hands each to the server it names."""
        for module in pkgutil.walk_packages(dialects.__path__, f"{dialects.__name__}."):
            import_module(module.name)
