"""PNG and PDF: the same picture as the SVG, from one description."""

import io

import pytest
from PIL import Image

from hyperviz.render import layout, pdf, png
from hyperviz.render.image import fitting_dpi
from hyperviz.render.palette import DARK, LIGHT, THEMES, paint
from hyperviz.snapshot import GraphSnapshot, Plan


def channels(color):
    return tuple(int(color[start : start + 2], 16) for start in (1, 3, 5))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_png_has_the_colours_of_every_region_and_role(plan, theme):
    image = Image.open(io.BytesIO(png(plan, dpi=192, theme=theme)))
    assert image.mode == "P"
    counts = {color: count for count, color in image.convert("RGB").getcolors(maxcolors=256)}
    colors = THEMES[theme]
    wanted = [colors.paper, colors.panel, colors.ink, colors.neutral, colors.alarm]
    wanted += [paint(region, colors).fill for region in range(4)]
    assert all(counts.get(channels(color), 0) > 50 for color in wanted)


def test_dpi_scales_and_a_huge_picture_is_made_small_enough(plan, make_chain):
    small, large = (Image.open(io.BytesIO(png(plan, dpi=dpi))).size for dpi in (48, 96))
    assert all(abs(2 * a - b) <= 2 for a, b in zip(small, large, strict=True))
    assert abs(large[0] - layout(plan.graph).size[0]) < 400
    tiny = Image.open(io.BytesIO(png(Plan.of_graph(make_chain(3)), dpi=1)))
    assert tiny.size[0] >= 1


def test_images_are_the_same_bytes_again(plan):
    assert png(plan) == png(plan)
    assert pdf(plan) == pdf(plan)


def test_the_pdf_is_one_page_with_text(plan):
    data = pdf(plan)
    assert data.startswith(b"%PDF-")
    assert data.count(b"/Type /Page\n") + data.count(b"/Type /Page ") == 1
    assert b"/Subtype /Type3" in data or b"/Subtype /TrueType" in data  # letters, not outlines


def test_names_that_no_font_holds_are_drawn_without_a_warning(make_node):
    nodes = (make_node("漢字 👩‍👩‍👧 $x_1$ \ud800", target="\x00"), make_node("x" * 10_000))
    hostile = Plan.of_graph(GraphSnapshot(nodes, "$\\frac{1}{0}$ 👩", ("漢字",)))
    assert png(hostile).startswith(b"\x89PNG")
    assert pdf(hostile).startswith(b"%PDF")


@pytest.mark.parametrize("draw", [png, pdf])
def test_an_unknown_theme_is_refused(plan, draw):
    with pytest.raises(ValueError, match="theme must be one of light, dark, got 'sepia'"):
        draw(plan, theme="sepia")


@pytest.mark.parametrize("dpi", [0, -1, float("nan")])
def test_dpi_is_above_zero(plan, dpi):
    with pytest.raises(ValueError, match="dpi must be above 0"):
        png(plan, dpi=dpi)


def test_an_empty_graph_is_a_picture_too():
    empty = Plan.of_graph(GraphSnapshot(()))
    assert png(empty).startswith(b"\x89PNG") and pdf(empty).startswith(b"%PDF")


def contrast(first, second):
    """WCAG's ratio."""

    def luminance(color):
        parts = [value / 255 for value in channels(color)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_on_every_ground_can_be_read(theme):
    grounds = [theme.paper, theme.panel, theme.neutral, *(paint(index, theme).fill for index in range(28))]
    assert min(contrast(theme.ink, ground) for ground in grounds) >= 4.5


def test_a_picture_that_memory_could_not_hold_is_made_smaller():
    assert fitting_dpi(96, (3000, 2000)) == 96
    for size in ((6000, 12000), (100, 200_000), (50_000, 50_000)):
        scale = fitting_dpi(600, size) / 96
        width, height = size[0] * scale, size[1] * scale
        assert width * height <= 64_000_001 and max(width, height) <= 65_536
