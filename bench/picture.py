"""A line chart as SVG, of a kilobyte or two, without a library."""

from collections.abc import Mapping

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 480, 240, 60, 34, 20, 36


def line_chart(title: str, unit: str, points: Mapping[int, float]) -> str:
    """One line over sizes that grow by equal factors. The dashed line is the cost at the smallest size: what is flat
    follows it."""
    sizes, costs = [*points], [*points.values()]
    top = max(costs) * 1.25 or 1.0
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    step = (right - _LEFT - 40) / max(1, len(sizes) - 1)
    places = [(_LEFT + 20 + step * at, bottom - (bottom - _TOP) * cost / top) for at, cost in enumerate(costs)]
    flat = places[0][1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="13">{title}</text>',
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>',
        f'<path d="M{_LEFT} {flat:.1f}H{right}" stroke="#bbb" stroke-dasharray="4 4"/>',
        f'<text x="{_LEFT - 6}" y="{bottom + 4}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{_number(top)}</text>',
        f'<text x="{right}" y="18" text-anchor="end" fill="#666">{unit}</text>',
        '<polyline points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '" fill="none" stroke="#1f6feb" '
        'stroke-width="2"/>',
    ]
    for (x, y), size, cost in zip(places, sizes, costs, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1f6feb"/>')
        parts.append(f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{_number(cost)}</text>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{size:,}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
