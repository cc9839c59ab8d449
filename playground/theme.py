"""How the page looks: a quiet theme on system fonts, one accent, one style sheet for light and dark."""

from __future__ import annotations

from importlib.resources import files

from gradio.themes import Base
from gradio.themes.utils import colors, sizes

FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")
SHEETS = ("page.css", "shortcuts.css", "access.css")


def theme() -> Base:
    """No font of it is fetched from anywhere."""
    base = Base(
        primary_hue=colors.sky,
        neutral_hue=colors.slate,
        radius_size=sizes.radius_lg,
        spacing_size=sizes.spacing_md,
        text_size=sizes.text_md,
        font=list(FONT),
        font_mono=list(MONO),
    )
    return base.set(
        body_background_fill="#f6f7f9",
        body_background_fill_dark="#0b0f19",
        body_text_color="#1c2430",
        body_text_color_dark="#e6e9ef",
        body_text_color_subdued="#5b6675",
        body_text_color_subdued_dark="#9aa5b5",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="#131926",
        background_fill_secondary="#f0f2f5",
        background_fill_secondary_dark="#0f1522",
        block_background_fill="#ffffff",
        block_background_fill_dark="#131926",
        block_border_color="#e3e7ec",
        block_border_color_dark="#232c3d",
        border_color_primary="#e3e7ec",
        border_color_primary_dark="#232c3d",
        block_label_text_weight="500",
        block_shadow="none",
        block_shadow_dark="none",
        button_primary_background_fill="#0066a1",
        button_primary_background_fill_hover="#00548a",
        button_primary_background_fill_dark="#2b8cc4",
        button_primary_background_fill_hover_dark="#3f9dd2",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#06121b",
        button_large_padding="9px 16px",
        button_large_text_size="15px",
        button_large_text_weight="550",
        color_accent_soft="#e6f1f8",
        color_accent_soft_dark="#17324a",
        input_background_fill="#ffffff",
        input_background_fill_dark="#0f1522",
    )


def style_sheet() -> str:
    """The page's own CSS."""
    folder = files("playground") / "assets"
    return "".join((folder / name).read_text(encoding="utf-8") for name in SHEETS)
