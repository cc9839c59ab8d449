"""How the page looks: a quiet theme on system fonts, one accent, one set of measures for light and dark."""

from __future__ import annotations

from importlib.resources import files

from gradio.themes import Base
from gradio.themes.utils import colors, sizes

FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")
SHEETS = ("tokens.css", "page.css", "chat.css", "controls.css", "shortcuts.css", "access.css")
BLUE = colors.Color(
    c50="#eef6fb",
    c100="#dcecf7",
    c200="#b9daee",
    c300="#8ac3e3",
    c400="#56b4e9",
    c500="#0072b2",
    c600="#0068a3",
    c700="#005684",
    c800="#064669",
    c900="#0a3954",
    c950="#072437",
    name="draft",
)
"""Shades around the blue that the panels give an accepted draft."""
FROM_TOKENS = {
    "body_background_fill": "ground",
    "body_text_color": "ink",
    "body_text_color_subdued": "quiet",
    "background_fill_primary": "paper",
    "background_fill_secondary": "sunken",
    "block_background_fill": "paper",
    "block_border_color": "line",
    "block_title_text_color": "ink",
    "block_label_text_color": "ink",
    "block_info_text_color": "quiet",
    "border_color_primary": "line",
    "border_color_accent": "accent",
    "input_background_fill": "paper",
    "input_border_color": "edge",
    "input_border_color_focus": "accent",
    "input_placeholder_color": "quiet",
    "color_accent_soft": "accent-soft",
    "slider_color": "accent",
    "checkbox_background_color_selected": "accent",
    "checkbox_border_color_selected": "accent",
    "checkbox_label_background_fill": "paper",
    "checkbox_label_background_fill_selected": "accent-soft",
    "checkbox_label_text_color_selected": "ink",
    "checkbox_label_border_color": "edge",
    "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent-strong",
    "button_primary_border_color": "accent",
    "button_primary_text_color": "on-accent",
    "button_secondary_background_fill": "paper",
    "button_secondary_background_fill_hover": "sunken",
    "button_secondary_border_color": "edge",
    "button_secondary_text_color": "ink",
}
"""Variables of the theme, and the token each takes its value from, light and dark alike."""


def theme() -> Base:
    """No font of it is fetched from anywhere."""
    base = Base(
        primary_hue=BLUE,
        neutral_hue=colors.slate,
        radius_size=sizes.radius_lg,
        spacing_size=sizes.spacing_md,
        text_size=sizes.text_md,
        font=list(FONT),
        font_mono=list(MONO),
    )
    taken = {name + end: f"var(--{token})" for name, token in FROM_TOKENS.items() for end in ("", "_dark")}
    return base.set(
        **taken,
        block_label_text_weight="550",
        block_title_text_weight="550",
        block_shadow="none",
        block_shadow_dark="none",
        block_radius="var(--round-3)",
        checkbox_label_border_width="1px",
        button_border_width="1px",
        button_large_padding="9px 16px",
        button_large_text_size="var(--type-4)",
        button_large_text_weight="550",
        button_small_padding="5px 12px",
        button_small_text_size="var(--type-2)",
        button_small_text_weight="500",
    )


def style_sheet() -> str:
    """The page's own CSS."""
    folder = files("playground") / "assets"
    return "".join((folder / name).read_text(encoding="utf-8") for name in SHEETS)
