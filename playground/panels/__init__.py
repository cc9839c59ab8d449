"""The live view beside the chat: trace events in, a line of figures, four charts and a token view out.

Use: one `PanelFeed` per session; `feed.update(trace.since(feed.next_seq), status)` is the next value of the `panels`
component, `feed.full(status)` answers its `resync`. The page needs `window.Plotly`, from a script served locally.
"""

from playground.panels.assets import PanelAssets, figure_assets, panel_assets, token_assets
from playground.panels.feed import PanelFeed
from playground.panels.status import LiveStatus

__all__ = ["LiveStatus", "PanelAssets", "PanelFeed", "figure_assets", "panel_assets", "token_assets"]
