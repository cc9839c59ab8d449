"""Who can open the page: the users of this machine alone, or others too."""

from __future__ import annotations

import ipaddress
import os

from playground.settings import Settings


def reachable_by_others(settings: Settings) -> bool:
    """Whether anyone but the users of this machine can open the page."""
    if settings.share or "SPACE_ID" in os.environ:
        return True
    host = settings.host.strip("[] ").lower()
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
