"""Tests of the study's own code: statistics, plots, report, grid and harness, with made-up data and a stand-in server.

python3 -m unittest discover -s examples/study
"""

import contextlib
import dataclasses
import io
import json
import math
import random
import re
import stat
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures
import regimes
import report
import run
import stats
import svg
import tasks
from data import Results, best, first, gap_in_nats, last_fresh, passing, until, variance_ratio
from data import variance_ratio_typical
from service import Client, JobFailed, Refused, Server, ServiceError
from stats import Interval, interval, paired

SVG = "{http://www.w3.org/2000/svg}"


class Statistics(unittest.TestCase):
    def test_quantiles_of_t_agree_with_tables_and_go_on_smoothly(self):
        table = ((1, 12.706), (2, 4.303), (10, 2.228), (30, 2.042), (31, 2.0395), (120, 1.980))
        for degrees, expected in table:
            self.assertAlmostEqual(stats.t_quantile(degrees, 0.025), expected, places=3)
        for degrees, tail, expected in ((4, 0.005, 4.604), (4, 0.2, 0.941), (9, 0.0005, 4.781), (2, 0.0025, 14.089)):
            self.assertAlmostEqual(stats.t_quantile(degrees, tail), expected, places=3)
        quantiles = [stats.t_quantile(degrees, 0.025) for degrees in range(1, 60)]
        self.assertEqual(quantiles, sorted(quantiles, reverse=True))

    def test_an_interval_of_three_values_is_the_textbook_one(self):
        # Mean 2, standard deviation 1: 4.3027 / sqrt(3).
        measured = interval([1.0, 2.0, 3.0])
        self.assertAlmostEqual(measured.mean, 2.0)
        self.assertAlmostEqual(measured.half, 4.3027 / 3**0.5, places=4)
        self.assertIsNone(interval([1.0]).half)
        self.assertIsNone(interval([]))

    def test_ninety_five_of_a_hundred_intervals_hold_the_truth(self):
        source = random.Random(1)
        held = 0
        for _ in range(4000):
            measured = interval(source.gauss(5.0, 2.0) for _ in range(3))
            held += measured.low <= 5.0 <= measured.high
        self.assertAlmostEqual(held / 4000, 0.95, delta=0.015)

    def test_ten_intervals_hold_together(self):
        source = random.Random(2)
        held = 0
        for _ in range(1000):
            many = [interval([source.gauss(0.0, 1.0) for _ in range(5)], 10) for _ in range(10)]
            held += all(one.low <= 0.0 <= one.high for one in many)
        self.assertGreater(held / 1000, 0.93)

    def test_an_effect_of_the_stated_size_is_found_four_times_of_five(self):
        source = random.Random(3)
        # Of the spread that is known: 1, over five seeds.
        error = 1 / 5**0.5
        effect = (stats.t_quantile(4, 0.025) + stats.t_quantile(4, 0.2)) * error
        found = sum(interval([source.gauss(effect, 1.0) for _ in range(5)]).low > 0 for _ in range(2000)) / 2000
        self.assertTrue(0.75 < found < 0.92, found)
        measured = interval([1.0, 2.0, 3.0])
        self.assertGreater(measured.detectable, measured.half)

    def test_pairs_are_made_of_common_seeds_only(self):
        self.assertEqual(paired({1: 3.0, 2: 5.0, 4: 9.0}, {1: 2.0, 2: 3.0, 3: 0.0}).mean, 1.5)
        self.assertIsNone(paired({1: 1.0}, {2: 1.0}))

    def test_verdicts_follow_the_interval(self):
        s, n, i = stats.SUPPORTED, stats.NOT_SUPPORTED, stats.INCONCLUSIVE
        cases = [
            # mean, half, above, not below; the margin is 0.02
            (0.05, 0.04, s, s),
            (0.05, 0.01, s, s),
            (0.01, 0.005, s, s),
            (0.005, 0.01, n, s),
            (0.01, 0.02, i, s),
            (0.00, 0.10, i, i),
            (-0.05, 0.01, n, n),
            (-0.05, 0.04, n, i),
            (0.00, 0.00, n, s),
        ]
        for mean, half, *expected in cases:
            measured, mirrored = Interval(mean, half, 3), Interval(-mean, half, 3)
            self.assertEqual([test(measured, 0.02) for test in (stats.above, stats.not_below)], expected, measured)
            self.assertEqual([test(mirrored, 0.02) for test in (stats.below, stats.not_above)], expected, mirrored)

    def test_one_seed_decides_nothing_and_no_data_is_told_apart(self):
        for test in (stats.above, stats.below, stats.not_below, stats.not_above):
            self.assertEqual(test(Interval(0.5, None, 1), 0.02), stats.INCONCLUSIVE)
            self.assertEqual(test(None, 0.02), stats.NO_DATA)

    def test_a_claim_is_as_good_as_its_weakest_part(self):
        s, n, i, d = stats.SUPPORTED, stats.NOT_SUPPORTED, stats.INCONCLUSIVE, stats.NO_DATA
        for parts, whole in (([s, s], s), ([s, i], i), ([s, n, i], n), ([s, d], i), ([d, d], d), ([], d)):
            self.assertEqual(stats.together(parts), whole)

    def test_no_negative_zero_is_shown(self):
        self.assertEqual(Interval(-0.0001, 0.01, 3).text(sign=True), "+0.000 ± 0.010")


class Plots(unittest.TestCase):
    def test_ticks_are_round_and_reach_over_the_data(self):
        for low, high in ((0, 1), (0.437, 0.882), (-3, 17), (0, 48), (1e-7, 3e-7), (5, 5), (0, 0), (0.99, 1.0)):
            ticks = svg.nice_ticks(low, high)
            self.assertTrue(ticks[0] <= low and ticks[-1] >= high, (low, high, ticks))
            self.assertTrue(2 <= len(ticks) <= 9, ticks)
            mantissa = f"{ticks[1] - ticks[0]:.6e}".split("e")[0].rstrip("0").rstrip(".")
            self.assertIn(mantissa, ("1", "2", "5"))

    def test_logarithmic_ticks_reach_over_the_data(self):
        self.assertEqual([round(t, 6) for t in svg.log_ticks(0.02, 5)], [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5])
        for low, high in ((0.03, 0.04), (1, 1), (1e-6, 1e6)):
            ticks = svg.log_ticks(low, high)
            self.assertTrue(ticks[0] <= low * 1.001 and ticks[-1] >= high * 0.999, ticks)

    def test_tick_numbers_have_the_digits_they_need(self):
        self.assertEqual([svg.tick_text(t, [0, 0.25, 0.5]) for t in (0, 0.25, 0.5)], ["0", "0.25", "0.50"])
        self.assertEqual(svg.tick_text(40, [0, 20, 40]), "40")
        self.assertEqual(svg.tick_text(0.02, [0.02]), "0.02")

    def test_colours_stand_out_on_both_cards(self):
        for card, (ink, weak, _, colours) in ((svg.LIGHT_CARD, svg.LIGHT), (svg.DARK_CARD, svg.DARK)):
            self.assertGreaterEqual(svg.contrast(ink, card), 7)
            self.assertGreaterEqual(svg.contrast(weak, card), 4.5)
            self.assertEqual(len(set(colours)), svg.STYLES)
            for colour in colours:
                self.assertGreaterEqual(svg.contrast(colour, card), 3, colour)

    def figure(self):
        line = svg.Line("a < b & c", [0, 1, 2], [0.2, 0.5, 0.4], [0.1, None, 0.3], [0.3, None, 0.5], markers=True)
        band = svg.Line("d", [0, 1, 2], [0.5, 0.6, 0.7], [0.4, -9.0, 0.6], [0.6, 9.0, 0.8])
        bars = [svg.Bar("x", 2.0, 1.0, 3.0), svg.Bar("y", 0.5, -4.0, 1.0, style=1)]
        return svg.Figure(
            "T & t",
            [
                svg.Panel("p", "step", "share", [line, band], limits=(0, 1)),
                svg.Panel("q", "what", "value", bars=bars, limits=(0, None)),
            ],
        )

    def test_a_figure_is_well_formed_and_stays_inside_its_card(self):
        root = ElementTree.fromstring(self.figure().render())
        _, _, width, height = map(float, root.get("viewBox").split())
        for element in root.iter():
            if element.tag in (f"{SVG}line", f"{SVG}text", f"{SVG}circle", f"{SVG}rect"):
                for name in ("x", "x1", "x2", "cx"):
                    self.assertTrue(0 <= float(element.get(name, 0)) <= width, element.attrib)
                for name in ("y", "y1", "y2", "cy"):
                    self.assertTrue(0 <= float(element.get(name, 0)) <= height, element.attrib)
        words = " ".join(root.itertext())
        self.assertIn("a < b & c", words)

    def test_an_interval_is_shaded_only_where_there_is_one(self):
        one = svg.Line("a", [0, 1], [0.2, 0.5], [None, None], [None, None])
        self.assertNotIn(
            "polygon", svg.Figure("t", [svg.Panel("", "x", "y", [one])]).render().split("legend")[0][:-400]
        )
        polygons = [
            e for e in ElementTree.fromstring(self.figure().render()).iter(f"{SVG}polygon") if e.get("fill-opacity")
        ]
        self.assertEqual(len(polygons), 1)

    def test_a_label_looks_alike_in_all_panels(self):
        first, second = (svg.Line(label, [0, 1], [0, 1]) for label in "ab")
        panels = [svg.Panel("", "x", "y", [first, second]), svg.Panel("", "x", "y", [second])]
        drawn = svg.Figure("t", panels).render()
        self.assertEqual(len(re.findall(r'<polyline class="s1"', drawn)), 2)


class Regimes(unittest.TestCase):
    def specs(self, scale=regimes.FULL):
        return [(r, c, regimes.spec_of(r, c, scale, 1)) for r in regimes.REGIMES for c in r.conditions]

    def test_names_differ_and_every_check_and_comparison_names_conditions_that_exist(self):
        self.assertEqual(len({r.name for r in regimes.REGIMES}), len(regimes.REGIMES))
        for regime in regimes.REGIMES:
            names = {c.name for c in regime.conditions}
            self.assertEqual(len(names), len(regime.conditions))
            used = [check.condition for check in regime.checks]
            used += [name for c in regime.comparisons for name in (c.first, c.second) if name]
            self.assertLessEqual(set(used), names, regime.name)
            self.assertTrue(regime.checks and any(c.test for c in regime.comparisons), regime.name)

    def test_methods_of_a_regime_take_the_same_steps_on_batches_of_one_size(self):
        for regime, condition, spec in self.specs():
            train = spec["train"]
            # More epochs over the same completions are more steps.
            own = {"once-1": 0.25, "once-16": 4}.get(condition.name, 1) if regime.name == "coverage" else 1
            steps = 48 * regime.steps * own
            self.assertEqual((train["steps"], train["prompts_per_step"]), (steps, 32), condition.name)
            phases = train["steps"] // train.get("updates_per_rollout", 1)
            self.assertTrue(not condition.name.startswith("once-") or phases == 12, condition.name)

    def test_what_specs_name_is_made(self):
        of_tasks = {name for task in tasks.TASKS.values() for name in task.names}
        known = {*of_tasks, *(f"{s.name}{what}" for s in regimes.STARTS for what in ("", "/set"))}
        for regime, _, spec in self.specs():
            for name in re.findall(r'"@([^"]+)"', json.dumps(spec)):
                self.assertIn(name, known)
                of_others = {start.name for start in (regime.start, *regime.others)}
                self.assertTrue(name.split("/")[0] in {*tasks.TASKS[regime.start.task].names, *of_others}, name)

    def test_an_objective_is_replaced_whole_and_the_rest_of_a_spec_field_by_field(self):
        base = {"objective": {"type": "a", "x": 1}, "train": {"steps": 1, "lag": 0}}
        merged = regimes.merge(base, {"objective": {"type": "b"}, "train": {"lag": 2}})
        self.assertEqual(merged, {"objective": {"type": "b"}, "train": {"steps": 1, "lag": 2}})

    def test_problems_are_split_with_their_operands_in_both_orders(self):
        train, held_out = ({row["prompt"] for row in rows} for rows in (tasks.ARITHMETIC.train, tasks.ARITHMETIC.held_out))
        self.assertEqual(len(train | held_out), 10_000 + 5_050)
        self.assertFalse(train & held_out)
        swapped = {"+".join(reversed(prompt[:-1].split("+"))) + "=" for prompt in held_out if "+" in prompt}
        self.assertFalse(swapped & train)

    def test_riddles_are_held_out_whatever_the_order_of_their_numbers(self):
        of = lambda rows: {(*sorted(row["numbers"]), row["target"]) for row in rows}  # noqa: E731
        train, held_out = of(tasks.COUNTDOWN.train), of(tasks.COUNTDOWN.held_out)
        self.assertEqual(len(train) + len(held_out), len(tasks.COUNTDOWN.train) + len(tasks.COUNTDOWN.held_out))
        self.assertFalse(train & held_out)

    def test_starts_imitate_as_many_right_answers_as_they_say(self):
        targets = {row["prompt"]: row["target"] for row in tasks.COUNTDOWN.train}
        answers = {row["prompt"]: row["answer"] for row in tasks.ARITHMETIC.train}

        def is_right(row):
            prompt, completion = row["prompt"], row["completion"]
            if prompt in answers:
                return answers[prompt] == completion
            # Every step is right; the last line uses each number once.
            *steps, expression = completion.splitlines()
            self.assertTrue(all(eval(left) == int(right) for left, right in (step.split("=") for step in steps)))
            self.assertEqual(sorted(re.findall(r"\d+", expression)), sorted(re.findall(r"\d+", prompt)[:3]))
            self.assertLess(len(completion), tasks.COUNTDOWN.max_new_tokens)
            return eval(expression) == targets[prompt]

        for start in regimes.STARTS:
            rows = start.data(1)
            right = sum(map(is_right, rows)) / len(rows)
            self.assertAlmostEqual(right, start.right, delta=0.03)
            self.assertNotEqual(rows, start.data(2))
            self.assertEqual(rows, start.data(1))


def made_up(regime, values, seeds=5):
    """Results in which pass@1 of a condition ends at what `values` says of it, with its seed's own wobble; all checks hold
    unless `values` says so by the name of a metric."""
    runs = []
    for condition in regime.conditions:
        for seed in range(1, seeds + 1):
            end = values.get(condition.name, 0.5) + 0.001 * (seed * 7 % 5) * (1 + len(condition.name) % 3)
            ks = [1, 2, 4, 8, 16, 32, 64]
            evaluations = [
                {"step": step, "pass_at": {str(k): at for k in ks}} for step, at in ((0, 0.1), (48, end))
            ]
            held = {"ess/ratio": 0.5, "p3o/ess": 0.5, "reward/zero_spread": 0.5, "entropy/mean": 1.5, "fade/delta": 0.6}
            held |= {"fade/alpha": 2.0, "kl/reference": 0.3, "kl/teacher": 0.4, "logprob/mean_abs_diff": 0.01}
            held |= {"target/ess_share": 0.4, "completion/tokens_mean": 20.0, "time/step_seconds": 2.0}
            held |= {name: value for name, value in values.items() if "/" in name and " " not in name}
            own = [name for name in values if name.startswith(condition.name + " ")]
            held |= {name.split()[1]: values[name] for name in own}
            series = {name: {"steps": [1, 2], "values": [value, value]} for name, value in held.items()}
            table = {"full": {"variance": 1.0 + seed / 100}, "none": {"variance": 4.0}}
            runs.append(
                {
                    "regime": regime.name,
                    "condition": condition.name,
                    "seed": seed,
                    "build": "anneal 0",
                    "machine": "2 cores",
                    "date": "2026-01-01",
                    "evaluations": evaluations,
                    "series": series,
                    "wall_seconds": 10.0 + seed,
                    "probe": {"entropy/mean": end},
                    "gaps": {"support_price_low": 0.2, "beta": 0.125},
                    "gradient_variances": [table, table],
                }
            )
    parameters = {**dataclasses.asdict(regimes.FULL), "smoke": False, "model": regimes.MODEL, "group": regimes.GROUP}
    return Results({"parameters": parameters, "runs": runs})


def regime(name):
    return next(one for one in regimes.REGIMES if one.name == name)


class Reports(unittest.TestCase):
    def verdict(self, name, values, seeds=5):
        return report.Told(made_up(regime(name), values, seeds), regime(name)).verdict

    def test_a_planted_effect_is_found_in_its_direction(self):
        better = {"fade-75": 0.7, "grpo": 0.5}
        self.assertEqual(self.verdict("entropy", better), stats.SUPPORTED)
        self.assertEqual(self.verdict("entropy", {"fade-75": 0.3, "grpo": 0.5}), stats.NOT_SUPPORTED)
        self.assertEqual(self.verdict("entropy", {}), stats.NOT_SUPPORTED, "no difference is shown to be none")
        self.assertEqual(self.verdict("entropy", better, seeds=1), stats.INCONCLUSIVE)

    def test_the_published_page_is_what_the_published_results_give(self):
        docs = run.ROOT / "docs"
        results = Results(json.loads((docs / "study" / "results.json").read_text()))
        drawn = {path.name for path in (docs / "study").glob("*.svg")}
        self.assertEqual(report.text(results, regimes.REGIMES, drawn), (docs / "RESULTS.md").read_text())

    def test_nothing_is_said_where_the_circumstances_did_not_come_about(self):
        better = {"fade-75": 0.7, "grpo": 0.5}
        for metric, value in (("fade/delta", 1.0), ("entropy/mean", 0.4), ("fade/alpha", 1.0)):
            self.assertEqual(self.verdict("entropy", {**better, metric: value}), stats.NOT_TESTABLE)
        self.assertEqual(self.verdict("reuse", {"ess/ratio": 0.95}), stats.NOT_TESTABLE)
        # What concerns some conditions keeps silent about these alone.
        one = report.Told(made_up(regime("reuse"), {"p3o-4 p3o/ess": 0.95}), regime("reuse"))
        silent = {comparison.first for comparison, _, verdict in one.compared if verdict == stats.NOT_TESTABLE}
        self.assertEqual((silent, one.verdict != stats.NOT_TESTABLE), ({"p3o-4"}, True))
        self.assertEqual(self.verdict("lower", {"fade-50 fade/delta": 1.0}), stats.NOT_TESTABLE)
        self.assertEqual(self.verdict("coverage", {"reward/zero_spread": 0.1}), stats.NOT_TESTABLE)

    def test_measures_read_what_they_say(self):
        run = made_up(regime("entropy"), {}, 1).runs[0]
        self.assertAlmostEqual(passing(1, 0)(run), 0.1)
        self.assertEqual((first("fade/delta")(run), best("fade/delta", min)(run)), (0.6,) * 2)
        stale = {"series": {"kl/reference": {"steps": list(range(1, 9)), "values": [0.5, 9, 9, 9, 0.25, 9, 9, 9]}}}
        self.assertAlmostEqual(last_fresh("kl/reference", 4)(stale), math.log(0.25))
        self.assertAlmostEqual(last_fresh("kl/reference", 16)(stale), math.log(0.5))
        self.assertAlmostEqual(last_fresh("kl/reference", 1)(stale), math.log(9))
        self.assertAlmostEqual(variance_ratio(run), -1.3764, places=3)
        of = [{"full": {"variance": full}, "none": {"variance": none}} for full, none in ((1, 2), (1, 2), (100, 50))]
        self.assertAlmostEqual(variance_ratio_typical({"gradient_variances": of}), -math.log(2) / 3)
        self.assertAlmostEqual(gap_in_nats("support_price_low")(run), 1.6)
        # From 0.1 before the first step to the end after two of 2 seconds each: halfway there after two.
        middle = (passing(1, 0)(run) + passing(1)(run)) / 2
        timed = {**run, "evaluations": [run["evaluations"][0], {**run["evaluations"][-1], "step": 2}]}
        self.assertAlmostEqual(until(1, middle)(timed), math.log(2.0))
        self.assertIsNone(until(1, 0.99)(timed))
        self.assertIsNone(until(1, 0.05)(timed), "it is there from the start")
        nothing = {"evaluations": [], "series": {}, "gaps": None}
        measures = (passing(1), first("x"), best("x", min), last_fresh("x", 4), gap_in_nats("x"), variance_ratio, variance_ratio_typical)
        self.assertTrue(all(measure(nothing) is None for measure in measures))

    def test_that_something_is_not_below_is_found_by_less_than_that_it_is_above(self):
        measured = Interval(0.01, 0.03, 5, detectable=0.035)
        of = lambda test: regimes.Comparison("", "a", "b", passing(1), test)  # noqa: E731
        needed = [report._needed(of(test), measured) for test in (stats.above, stats.not_below, stats.not_above)]
        for found, expected in zip(needed, (0.035, 0.015, 0.015)):
            self.assertAlmostEqual(found, expected)

    def test_the_page_shows_what_was_measured_and_every_regime_has_its_figure(self):
        for one in regimes.REGIMES:
            results = made_up(one, {})
            with tempfile.TemporaryDirectory() as folder:
                drawn, notes = figures.draw(results, [one], Path(folder))
                self.assertEqual((drawn, notes), ([f"{one.name}.svg"], []))
                ElementTree.parse(Path(folder) / drawn[0])
            page = report.text(results, regimes.REGIMES, drawn)
            self.assertIn(one.claim[:40], page.replace("\n", " "))
            self.assertIn(f"![{one.title}](study/{one.name}.svg)", page)
            self.assertIn("Regimes that were not run yet", page)
            self.assertNotIn("no data", page)
            rows = page.count("| yes |")
            self.assertEqual(rows, len(one.checks))

    def test_what_lacks_data_is_noted(self):
        one = regime("sampler")
        results = made_up(one, {})
        results.runs = [run for run in results.runs if run["condition"] != "p3o-own"]
        with tempfile.TemporaryDirectory() as folder:
            _, notes = figures.draw(results, [one], Path(folder))
        self.assertEqual(notes, ["sampler.svg: no pass@1 of p3o-own"])
        self.assertIn("no data", report.text(results, [one], []))


class StandIn(BaseHTTPRequestHandler):
    """As much of the API as the study uses. What it should do wrong stands in `server.trouble`, by job name."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        store, key = self.server, self.headers["Idempotency-Key"]
        if self.path.startswith("/v1/datasets"):
            store.uploads.setdefault(key, f"ds_{len(store.uploads)}")
            return self.answer({"id": store.uploads[key]})
        body = json.loads(content)
        if self.path == "/v1/jobs":
            identifier = store.keys.get(key) or f"job_{len(store.jobs)}"
            store.jobs[identifier] = body
            if key:
                store.keys[key] = identifier
            return self.answer({"id": identifier, "status": self.job(identifier, body)["status"]})
        if self.path == "/v1/sweeps":
            if store.trouble.get(body["name"]) == "refused":
                errors = [{"pointer": "/variants/0/patch/0", "code": "out_of_range", "detail": "must be above 0"}]
                return self.answer({"detail": "no", "errors": errors}, 422)
            if key not in store.keys:
                store.keys[key] = self.sweep(body)
            return self.answer({"id": f"swp_{len(store.keys)}", "trials": store.keys[key]})
        if self.path == "/v1/rollout-sets":
            store.jobs["job_rs"] = {**body, "train": {"steps": 0}}
            return self.answer({"id": "rs_1", "job": "job_rs"})
        if self.path.endswith("/resume"):
            store.resumed.append(self.path.split("/")[3])
            return self.answer({})
        if self.path.endswith("/cancel"):
            store.cancelled.append(self.path.split("/")[3])
            return self.answer({})
        return self.answer({"detail": "there is nothing here"}, 404)

    def do_GET(self):
        url = urlsplit(self.path)
        _, _, _, job, what = url.path.split("/")
        spec, query = self.server.jobs[job], parse_qs(url.query)
        if what == "wait":
            return self.answer(self.job(job, spec))
        if what == "metrics":
            steps = list(range(1, spec["train"]["steps"] + 1))
            series = [{"name": k, "steps": steps, "values": [0.5] * len(steps)} for k in query["keys"][0].split(",")]
            return self.answer({"series": series})
        if what == "events":
            events, after = self.events(spec), int(query["after"][0])
            page = events[after : after + 3]
            return self.answer({"data": page, "has_more": after + 3 < len(events)})
        return self.answer({"detail": "there is nothing here"}, 404)

    def sweep(self, body):
        """Makes the jobs of a sweep as the server does: whole specs as variants, and what a seed brings along."""
        trials = []
        for at, seed in enumerate(body["seeds"]):
            for place, variant in enumerate(body["variants"]):
                spec = json.loads(json.dumps(variant["patch"][0]["value"]))
                for pointer, values in body["by_seed"].items():
                    *path, name = pointer.split("/")[1:]
                    inner = spec
                    for part in path:
                        inner = inner[part]
                    inner[name] = values[at]
                identifier = f"job_{len(self.server.jobs)}"
                self.server.jobs[identifier] = {**spec, "seed": seed}
                trials.append({"job": identifier, "configuration": place, "seed": seed})
        return trials

    def job(self, job, spec):
        trouble = self.server.trouble.get(spec["name"])
        shown = {"id": job, "started_at": 0, "finished_at": 2, "step": 1, "steps": 4, "failure": None, "result": None}
        if trouble == "fails":
            return {**shown, "status": "failed", "failure": {"code": "diverged", "message": "the loss is not finite"}}
        if trouble == "hangs":
            return {**shown, "status": "running"}
        result = {"checkpoint": f"ckpt_{job}"}
        if spec.get("objective", {}).get("type") == "bolt":
            result["report"] = {
                "gaps": {"beta": 0.25, "support_price_low": 0.2, "support_kl": 0.1, "beta_support_kl": 0.1}
            }
        return {**shown, "status": "succeeded", "result": result}

    def events(self, spec):
        events = [("status", {"status": "running"})]
        if spec["objective"].get("gradient_variance_repeats"):
            both = {"variance": 1.0, "mean_norm": 2.0}
            events.append(("log", {"gradient_variance": {"full": both, "top_k": both, "none": both}}))
        if spec["dataset"].get("eval"):
            for step in range(spec["train"]["steps"] + 1):
                mean = 0.1 * (1 + step)
                ks = [{"k": k, "mean": mean, "half_width": 0.1} for k in spec["eval"]["pass_at"]]
                events.append(("evaluation", {"step": step, "pass_at": ks}))
        events.append(("status", {"status": "succeeded"}))
        return [
            {"seq": i + 1, "type": kind, "data": data, "created_at": f"2026-01-01T00:00:{i:02}.500Z"}
            for i, (kind, data) in enumerate(events)
        ]

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Harness(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
        self.server.jobs, self.server.trouble, self.server.cancelled, self.server.resumed = {}, {}, [], []
        self.server.keys, self.server.uploads = {}, {}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.client = Client(f"http://127.0.0.1:{self.server.server_address[1]}", retry_seconds=0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def study(self, scale=regimes.SMOKE, names=("sampler",), seeds=1):
        return run.Study(self.out, scale, seeds, names)

    def quietly(self, action, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = action(*arguments)
        return result, printed.getvalue()

    def test_all_regimes_run_and_leave_every_figure_complete(self):
        study = self.study(names=())
        self.quietly(study.run, self.client)
        self.assertEqual(study.failures, [])
        notes, _ = self.quietly(run.write_results, study, self.out / "docs")
        self.assertEqual(notes, [])
        expected = [f"{one.name}.svg" for one in regimes.REGIMES]
        found = sorted(path.name for path in (self.out / "docs/study").iterdir())
        self.assertEqual(found, sorted([*expected, "results.json"]))
        page = (self.out / "docs/RESULTS.md").read_text()
        self.assertIn("smoke test", page)
        self.assertNotIn("no data", page)

    def test_things_are_made_once_for_each_seed_and_stand_in_what_is_submitted(self):
        self.quietly(self.study(names=("mixed",), seeds=2).run, self.client)
        specs = list(self.server.jobs.values())
        names = [spec["name"] for spec in specs]
        self.assertEqual((names.count("start plain"), names.count("start noisy")), (2, 2))
        trained = [spec for spec in specs if spec["name"].startswith("mixed/")]
        self.assertEqual(len(trained), 12)
        self.assertTrue(all(spec["model"].startswith("ckpt_") for spec in trained))
        self.assertEqual({spec["rollouts"]["mix"]["rollout_set"] for spec in trained}, {"rs_1"})
        self.assertNotIn("@", json.dumps(specs))

    def test_an_interrupted_study_goes_on_where_it_stopped(self):
        study = self.study()
        self.quietly(study.run, self.client)
        for unit in study.units[2:]:
            (study.runs / unit.file).unlink()
        before = set(self.server.jobs)
        study = self.study()
        _, printed = self.quietly(study.run, self.client)
        self.assertIn("sampler: 2 known already", printed)
        self.assertEqual((set(self.server.jobs), study.pending()), (before, []), "the server has the sweep")
        # A server of its own makes what is missing, and no more.
        for unit in study.units[2:]:
            (study.runs / unit.file).unlink()
        self.server.keys.clear()
        study = self.study()
        self.quietly(study.run, self.client, True)
        fresh = [spec["name"] for job, spec in self.server.jobs.items() if job not in before]
        self.assertEqual(fresh[-2:], ["sampler/p3o-own", "sampler/p3o-int8"])
        self.assertEqual((len(fresh), study.pending()), (3, []), "and the start")

    def test_what_specs_name_at_other_places_is_another_sweep(self):
        self.quietly(self.study(names=("distillation",), seeds=2).run, self.client)
        trained = [spec for spec in self.server.jobs.values() if spec["name"].startswith("distillation/")]
        self.assertEqual(len(trained), 20)
        teachers = {(spec["name"].rsplit("-", 1)[1], spec["seed"], spec["objective"]["teacher"]) for spec in trained}
        self.assertEqual(len(teachers), 4, "one for each teacher and seed")
        self.assertNotIn("@", json.dumps(trained))

    def test_a_result_of_another_spec_is_not_taken_for_this_one(self):
        self.quietly(self.study().run, self.client)
        longer = dataclasses.replace(regimes.SMOKE, steps=8)
        self.assertEqual(len(self.study(longer).pending()), 4)

    def test_a_failed_job_and_a_refused_sweep_are_named_and_do_not_stop_the_others(self):
        self.server.trouble.update({"sampler/grpo-own": "fails", "study lag": "refused"})
        study = self.study(names=("sampler", "lag"))
        self.quietly(study.run, self.client)
        self.assertEqual(len(study.failures), 2)
        self.assertIn("lag: /v1/sweeps: /variants/0/patch/0: must be above 0", study.failures[0].replace("  ", " "))
        self.assertIn("the loss is not finite (diverged)", study.failures[1])
        pending = [unit.condition.name for unit in study.pending()]
        self.assertEqual((len(pending), "grpo-own" in pending, "p3o-own" in pending), (13, True, False))
        # A job that failed is begun again, in the sweep that there is.
        self.server.trouble["sampler/grpo-own"] = "fails"
        failing = self.study()
        self.quietly(failing.run, self.client)
        self.assertEqual((len(failing.failures), len(self.server.resumed)), (1, 2))
        self.server.trouble.clear()
        again = self.study(names=("sampler", "lag"))
        self.quietly(again.run, self.client)
        self.assertEqual((again.failures, again.pending()), ([], []))

    def test_a_job_that_does_not_end_is_given_up_and_cancelled(self):
        self.server.trouble["grpo"] = "hangs"
        with self.assertRaisesRegex(JobFailed, "not finished after 0 s; it was at step 1 of 4"):
            self.client.run({"name": "grpo"}, 0)
        self.assertEqual(self.server.cancelled, ["job_0"])

    def test_a_server_that_is_gone_ends_the_study(self):
        self.client.url = "http://127.0.0.1:1"
        with self.assertRaises(ServiceError):
            self.study().run(self.client)
        with self.assertRaises(Refused):
            Client(f"http://127.0.0.1:{self.server.server_address[1]}").call("/v1/nothing", {})

    def program(self, text):
        path = self.out / "program"
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_a_server_is_started_on_its_own_data_and_nothing_of_it_is_left(self):
        text = "import sys\nprint('anneal serves http://127.0.0.1:9 (docs)', flush=True)\nsys.stdin.read()"
        with Server(self.program(text), self.out) as server:
            self.assertEqual(server.url, "http://127.0.0.1:9")
            self.assertEqual(len(list(self.out.glob("server-*"))), 1)
        self.assertEqual(server.process.returncode, 0)
        self.assertEqual(list(self.out.glob("server-*")), [])

    def test_a_server_that_does_not_start_says_why(self):
        with self.assertRaisesRegex(ServiceError, "ended with code 3; the disk is gone"):
            with Server(self.program("import sys\nprint('the disk is gone', file=sys.stderr)\nsys.exit(3)"), self.out):
                pass
        with self.assertRaisesRegex(ServiceError, "cargo build --release"):
            with Server(self.out / "absent", self.out):
                pass


if __name__ == "__main__":
    unittest.main()
