"""The six classes of tokens stay apart for colour-blind eyes, light and dark: simulated, then compared in CIELAB.

Simulation by Machado, Oliveira and Fernandes 2009 (severity 1), on linear RGB; differences as CIE 1976.
"""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

CLASSES = ("accepted", "rejected", "bonus", "correction", "overshoot", "carry")
APART = 10.0
"""Twice what a casual look tells apart; each class also has its own shape or pattern."""
EYES = {
    "usual": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)


def palette(theme: str) -> dict[str, str]:
    """Colours by class, from the style sheet."""
    sheet = (files("playground.panels") / "assets" / "panels.css").read_text()
    block = re.search((r"^\.dark " if theme == "dark" else "^") + r"\.ds-root \{(.*?)\n\}", sheet, re.S | re.M)
    assert block is not None
    found = dict(re.findall(r"--ds-([a-z]+): (#[0-9a-f]{6});", block[1]))
    return {name: found[name] for name in CLASSES}


def lab(colour: str, eye: str) -> NDArray[np.float64]:
    """CIELAB of an sRGB colour as an eye sees it."""
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt((TO_XYZ @ np.clip(np.array(EYES[eye]) @ linear, 0, 1)) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(colours: dict[str, str], eye: str) -> tuple[float, tuple[str, str]]:
    """The smallest difference between two classes, and which they are."""
    seen = {name: lab(colour, eye) for name, colour in colours.items()}
    return min((float(np.linalg.norm(seen[a] - seen[b])), (a, b)) for a, b in combinations(colours, 2))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eye", EYES)
def test_every_two_classes_are_apart(theme: str, eye: str):
    distance, pair = nearest(palette(theme), eye)
    assert distance >= APART, f"{pair} are {distance:.1f} apart"


def test_red_and_green_of_one_lightness_are_noticed():
    traffic = {"accepted": "#5a9b3f", "rejected": "#ad7a33"}
    assert nearest(traffic, "usual")[0] > 40 and nearest(traffic, "deuteranopia")[0] < APART
