#!/usr/bin/env python3
"""Draws a job's course as SVG: reward and effective sample size per step, and held-out pass@1 with its intervals.

    python3 examples/plot_run.py http://127.0.0.1:8080/v1/jobs/JOB > run.svg
"""

import json
import sys
import urllib.request

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 320, 50, 130, 36, 40
COLORS = {"reward/mean": "#1f77b4", "target/ess_share": "#999999", "pass@1": "#d62728"}
LABELS = {"reward/mean": "reward (training)", "target/ess_share": "weights ESS / group", "pass@1": "pass@1 (held out)"}


def get(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def events(job):
    after = 0
    while True:
        page = get(f"{job}/events?after={after}&limit=200")
        yield from page["data"]
        if not page["has_more"]:
            return
        after = page["data"][-1]["seq"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    job = sys.argv[1].rstrip("/")
    spec = get(job)
    steps = spec["steps"]
    series = get(f"{job}/metrics?keys=reward/mean,target/ess_share&points=200")["series"]
    evaluations = [e["data"] for e in events(job) if e["type"] == "evaluation"]

    def x(step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / steps

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{spec["name"] or spec["id"]}: {spec["objective"]} on '
        f'{spec["spec"]["model"]}</text>',
    ]
    for tick in range(0, 11, 2):
        at = y(tick / 10)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e5e5e5"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick / 10:.1f}</text>')
    for tick in range(5):
        step = steps * tick // 4
        out.append(f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{step}</text>')
    out.append(f'<text x="{x(steps / 2):.1f}" y="{HEIGHT - 6}" text-anchor="middle">optimizer step</text>')
    lines = {s["name"]: list(zip(s["steps"], s["values"])) for s in series}
    lines["pass@1"] = [(e["step"], e["pass_at"][0]["mean"]) for e in evaluations]
    for name, points in lines.items():
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
        width = 2.5 if name == "pass@1" else 1.2
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[name]}" stroke-width="{width}"/>')
    # Names stand beside the ends of their lines, pushed down where they would overlap.
    below = 0
    for at, name in sorted((y(points[-1][1]) + 4, name) for name, points in lines.items() if points):
        below = max(at, below + 15)
        out.append(f'<text x="{x(steps) + 8:.1f}" y="{below:.1f}" fill="{COLORS[name]}">{LABELS[name]}</text>')
    for e in evaluations:
        mean, low, high = (e["pass_at"][0][name] for name in ("mean", "low", "high"))
        at = f"{x(e['step']):.1f}"
        out.append(f'<line x1="{at}" x2="{at}" y1="{y(high):.1f}" y2="{y(low):.1f}" '
                   f'stroke="{COLORS["pass@1"]}"/>')
        out.append(f'<circle cx="{at}" cy="{y(mean):.1f}" r="3.5" fill="{COLORS["pass@1"]}"/>')
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
