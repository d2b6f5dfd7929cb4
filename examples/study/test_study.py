"""Tests of the study's own code: statistics, plots, report, grid and harness, with made-up data and a stand-in server.

python3 -m unittest discover -s examples/study
"""

import contextlib
import dataclasses
import io
import json
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
import report
import run
import stats
import svg
from data import Results
from service import Client, JobFailed, Refused, Server, ServiceError
from stats import Interval, interval, paired

SVG = "{http://www.w3.org/2000/svg}"


class Statistics(unittest.TestCase):
    def test_quantiles_of_t_agree_with_tables_and_go_on_smoothly(self):
        for degrees, expected in ((1, 12.706), (2, 4.303), (10, 2.228), (30, 2.042), (31, 2.0395), (120, 1.980)):
            self.assertAlmostEqual(stats.t_quantile(degrees), expected, places=3)
        quantiles = [stats.t_quantile(degrees) for degrees in range(1, 60)]
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

    def test_pairs_are_made_of_common_seeds_only(self):
        self.assertEqual(paired({1: 3.0, 2: 5.0, 4: 9.0}, {1: 2.0, 2: 3.0, 3: 0.0}).mean, 1.5)
        self.assertIsNone(paired({1: 1.0}, {2: 1.0}))

    def test_verdicts_follow_the_interval(self):
        s, n, i = stats.SUPPORTED, stats.NOT_SUPPORTED, stats.INCONCLUSIVE
        cases = [
            # mean, half, above, not below, within; the margin is 0.02
            (0.05, 0.04, s, s, i),
            (0.05, 0.01, s, s, n),
            (0.01, 0.005, s, s, s),
            (0.005, 0.01, n, s, s),
            (0.01, 0.02, i, s, i),
            (0.00, 0.10, i, i, i),
            (-0.05, 0.01, n, n, n),
            (-0.05, 0.04, n, i, i),
            (0.00, 0.00, n, s, s),
        ]
        for mean, half, *expected in cases:
            measured = Interval(mean, half, 3)
            verdicts = [test(measured, 0.02) for test in (stats.above, stats.not_below, stats.within)]
            self.assertEqual(verdicts, expected, measured)

    def test_one_seed_decides_nothing_and_no_data_is_told_apart(self):
        for test in (stats.above, stats.not_below, stats.within):
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


class Grid(unittest.TestCase):
    def specs(self, scale=run.FULL):
        return {c.name: c.spec(scale, 1) for c in run.conditions(scale)}

    def test_all_methods_sample_equally_much_and_take_equally_many_steps(self):
        for name, spec in self.specs().items():
            self.assertEqual(run.rollouts(spec), 48 * 32 * 8, name)
            self.assertEqual(spec["train"]["steps"], 48, name)

    def test_names_differ_and_every_figure_and_claim_names_methods_that_exist(self):
        names = [c.name for c in run.conditions(run.FULL)]
        self.assertEqual(len(names), len(set(names)))
        for name in (*figures.MAIN, *figures.SAMPLING_ONLINE, *(b[0] for b in figures.BASELINES)):
            self.assertIn(name, names)
        code = Path(report.__file__).read_text()
        for name in re.findall(r'"((?:grpo|p3o|fade|vopd)(?:-[a-z]+)*)"', code):
            self.assertIn(name, names)
        self.assertIn(f"bolt-b{report.DEFAULT_BETA}-oneshot", names)

    def test_only_hot_runs_have_their_own_temperatures(self):
        for name, spec in self.specs().items():
            hot = name.endswith("-hot")
            self.assertEqual(spec["sampling"]["temperature"], run.HOT if hot else 1.0)
            self.assertEqual(spec["eval"].get("temperature"), 1.0 if hot else None)

    def test_epochs_end_where_an_evaluation_is(self):
        self.assertEqual(run.FULL.steps // run.REUSE % run.FULL.eval_every, 0)

    def test_the_example_specs_are_those_of_the_study(self):
        folder = Path(run.__file__).parent
        for name, spec in run.example_specs().items():
            text = (folder / f"{name}.json").read_text()
            self.assertEqual(text, run.spec_text(spec), f"{name}.json: run `run.py --write-specs`")
            self.assertEqual(json.loads(text), spec)

    def test_merging_changes_what_it_names_only(self):
        base = {"a": {"b": 1, "c": 2}, "d": 3}
        self.assertEqual(
            run.merge(base, {"a": {"b": 9}, "e": {"f": 1}}), {"a": {"b": 9, "c": 2}, "d": 3, "e": {"f": 1}}
        )
        self.assertEqual(base, {"a": {"b": 1, "c": 2}, "d": 3})


def made_up(seeds=3, accuracy=None, wobble=0.001, **changes):
    """Results as a study would leave them. `accuracy` maps methods to their final pass@1, 0.8 for all others; the
    values of different seeds differ by about `wobble`."""
    source = random.Random(7)
    scale = run.FULL
    study_runs, frontiers = [], []
    for seed in range(1, seeds + 1):
        for condition in run.conditions(scale):
            end = (accuracy or {}).get(condition.name, 0.8) + source.gauss(0, wobble)
            steps = list(range(1, scale.steps + 1))

            def series(first, last, steps=steps):
                values = [first + (last - first) * s / steps[-1] + source.gauss(0, wobble) for s in steps]
                return {"steps": steps, "values": values}

            evaluated = range(0, scale.steps + 1, scale.eval_every)
            variance = {
                name: {"variance": v + source.gauss(0, 0.01), "mean_norm": (1 + v / 15) ** 0.5}
                for name, v in (("full", 1.0), ("top_k", 1.5), ("none", 4.0))
            }
            gaps = {
                "beta": 0.25,
                "support_price_low": 0.2 if "oneshot" in condition.name else 0.1,
                "support_price_high": 0.3,
                "support_kl": 0.1,
                "beta_support_kl": 0.025,
            }
            study_runs.append(
                {
                    "name": condition.name,
                    "seed": seed,
                    "label": condition.label,
                    "build": "anneal 0 (abc)",
                    "machine": "2 cores of paper",
                    "date": "2026-01-01",
                    "rollouts": 1,
                    "wall_seconds": 30.0 + seed,
                    "evaluations": [
                        {"step": s, "pass_at": {"1": 0.5 + (end - 0.5) * s / scale.steps, "8": 0.99}} for s in evaluated
                    ],
                    "series": {
                        "entropy/mean": series(0.4, 0.2),
                        "ess/ratio": series(1, 0.9),
                        "fade/alpha": series(1.5, 1.1),
                        "clip/fraction": series(0, 0.05),
                        "fade/delta": series(1, 0.9),
                        "logprob/mean_abs_diff": series(0, 0.003),
                    },
                    "probe": {"entropy/mean": 0.2 + source.gauss(0, wobble)},
                    "round_gaps": [gaps] if "bolt" in condition.name else [],
                    "final_gaps": gaps if "bolt" in condition.name else None,
                    "gradient_variance": variance if condition.name == figures.VARIANCE_RUN else None,
                }
            )
        frontiers.append(
            {
                "seed": seed,
                "build": "anneal 0 (abc)",
                "machine": "2 cores of paper",
                "date": "2026-01-01",
                "rows": [
                    {"beta": b, "ess_share": min(1, 0.3 + b / 3 + seed / 1000), "target_success": 1 - b / 10}
                    for b in run.FRONTIER_BETAS
                ],
                "recommended_beta": 0.25,
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        empty = run.Study(folder, scale, seeds).results()
    results = {
        **empty,
        "runs": study_runs,
        "frontiers": frontiers,
        "teacher": {"evaluations": [{"step": 300, "pass_at": {"1": 0.97, "8": 1.0}}]},
    }
    return Results({**results, **changes})


class Reports(unittest.TestCase):
    def draw(self, results):
        with tempfile.TemporaryDirectory() as folder:
            written, notes = figures.draw(results, Path(folder))
            for name in written:
                ElementTree.parse(Path(folder) / name)
        return written, notes

    def verdicts(self, results):
        return [claim(results).verdict for claim in report.CLAIMS]

    def test_complete_data_give_every_figure_and_no_note(self):
        written, notes = self.draw(made_up())
        self.assertEqual((written, notes), (list(figures.FIGURES), []))

    def test_series_are_means_over_windows_of_steps(self):
        results = made_up(wobble=0)
        for entry in results.runs:
            entry["series"]["ess/ratio"] = {"steps": [1, 2, 3, 4, 5], "values": [1.0, 0.5, 0.5, 0.0, 0.25]}
        self.assertEqual(
            results.series("grpo", "ess/ratio"), [(4, {1: 0.5, 2: 0.5, 3: 0.5}), (8, {1: 0.25, 2: 0.25, 3: 0.25})]
        )

    def test_a_planted_effect_is_found_in_its_direction(self):
        apart = {"grpo-stale": 0.7, "grpo-hot": 0.7}
        self.assertEqual(report.claim_p3o(made_up(accuracy=apart)).verdict, stats.SUPPORTED)
        self.assertEqual(report.claim_p3o(made_up(accuracy={"p3o-stale": 0.7})).verdict, stats.NOT_SUPPORTED)
        refreshed = {f"bolt-b{b}-refreshed": 0.9 for b in run.BETAS}
        lines = report.claim_bolt(made_up(accuracy=refreshed)).parts
        self.assertEqual([p.verdict for p in lines[1:4]], [stats.SUPPORTED] * 3)

    def test_a_sampler_that_costs_something_is_found(self):
        self.assertEqual(report.claim_sampler(made_up()).verdict, stats.SUPPORTED)
        for method in ("grpo-int8", "p3o-stale-int8"):
            costly = report.claim_sampler(made_up(accuracy={method: 0.7}))
            self.assertEqual(costly.verdict, stats.NOT_SUPPORTED)

    def test_noise_alone_supports_no_difference(self):
        claim = report.claim_p3o(made_up(wobble=0.05))
        self.assertNotEqual(claim.verdict, stats.SUPPORTED)

    def test_lower_variance_at_equal_mean_is_recognised(self):
        claim = report.claim_vopd(made_up())
        self.assertEqual(claim.verdict, stats.SUPPORTED)
        # Without the correction for noise the lengths would differ by a factor of 1.09.
        self.assertAlmostEqual(claim.parts[1].measured.mean, 0.0, delta=0.01)

    def test_one_seed_leaves_every_claim_inconclusive(self):
        self.assertEqual(self.verdicts(made_up(seeds=1)), [stats.INCONCLUSIVE] * 6)

    def test_nothing_is_claimed_without_data(self):
        empty = made_up(runs=[], frontiers=[])
        self.assertEqual(self.verdicts(empty), [stats.NO_DATA] * 6)
        written, notes = self.draw(empty)
        self.assertEqual(written, [])
        self.assertEqual(len(notes), len(figures.FIGURES))

    def test_the_page_shows_what_was_measured(self):
        results = made_up(accuracy={"grpo-stale": 0.7, "grpo-hot": 0.7})
        page = report.text(results, list(figures.FIGURES))
        self.assertIn("python3 examples/study/run.py --seeds 3 --docs docs", page)
        self.assertIn("2 cores of paper, 2026-01-01", page)
        self.assertIn("| P3O without a clip range | supported |", page)
        grpo = next(line for line in page.splitlines() if line.startswith("| GRPO, stale |"))
        self.assertRegex(grpo, r"\| 0\.500 ± 0\.000 \| 0\.[67]\d\d ± 0\.\d{3} \| 0\.990 ± 0\.000 \|")
        for name in figures.FIGURES:
            self.assertIn(f"(study/{name})", page)
        self.assertLessEqual(max(len(line) for line in page.splitlines() if not line.startswith(("|", "!"))), 120)

    def test_mixed_builds_are_named(self):
        results = made_up()
        results.runs[0]["build"] = "anneal 1 (def)"
        self.assertIn("The runs come from different builds", report.text(results, []))

    def test_an_idle_axis_of_fade_is_said_to_be_idle(self):
        results = made_up()
        self.assertNotIn("idle", report.text(results, []))
        for entry in results.runs:
            entry["series"]["fade/delta"]["values"] = [1.0] * 48
        self.assertIn("The sign axis was idle", report.text(results, []))


class StandIn(BaseHTTPRequestHandler):
    """As much of the API as the study uses. What it should do wrong stands in `server.trouble`, by job name."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        store = self.server
        if self.path == "/v1/jobs":
            if store.trouble.get(body["name"]) == "refused":
                errors = [{"pointer": "/objective/beta", "code": "out_of_range", "detail": "must be above 0"}]
                return self.answer({"detail": "no", "errors": errors}, 422)
            identifier = f"job_{len(store.jobs)}"
            store.jobs[identifier] = body
            return self.answer({"id": identifier, "status": "queued"})
        if self.path == "/v1/rollout-sets":
            store.jobs["job_rs"] = {**body, "train": {"steps": 0}}
            return self.answer({"id": "rs_1", "job": "job_rs"})
        if self.path == "/v1/rollout-sets/rs_1/frontier":
            rows = [{"beta": b, "ess_share": 0.5, "target_success": 0.9} for b in body["betas"]]
            return self.answer({"rows": rows, "coverage": {"solve_rate": 0.5}, "recommended_beta": 0.1})
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
                ks = [{"k": k, "mean": 0.5, "half_width": 0.1} for k in (1, 8)]
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
        self.server.jobs, self.server.trouble, self.server.cancelled = {}, {}, []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.client = Client(f"http://127.0.0.1:{self.server.server_address[1]}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def study(self, scale=run.SMOKE, patterns=(), seeds=1):
        return run.Study(self.out, scale, seeds, patterns, with_policy_gradient=True)

    def quietly(self, action, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = action(*arguments)
        return result, printed.getvalue()

    def test_the_whole_grid_runs_and_leaves_every_figure_complete(self):
        study = self.study()
        _, printed = self.quietly(study.run, self.client)
        self.assertEqual(study.failures, [])
        self.assertEqual(len(printed.splitlines()), len(study.units) + 1)  # and the teacher
        notes, _ = self.quietly(run.write_results, study, self.out / "docs")
        self.assertEqual(notes, [])
        self.assertEqual(
            sorted(p.name for p in (self.out / "docs/study").iterdir()), sorted([*figures.FIGURES, "results.json"])
        )
        page = (self.out / "docs/RESULTS.md").read_text()
        self.assertIn("smoke test", page)
        self.assertNotIn("no data", page)

    def test_a_teacher_is_trained_once_and_stands_in_what_is_submitted(self):
        self.quietly(self.study(patterns=["vopd*"]).run, self.client)
        specs = list(self.server.jobs.values())
        self.assertEqual([s["name"] for s in specs].count("sft"), 1)
        self.assertEqual({s["objective"]["teacher"] for s in specs if s["name"].startswith("vopd")}, {"ckpt_job_0"})

    def test_an_interrupted_study_goes_on_where_it_stopped(self):
        self.quietly(self.study(patterns=["grpo", "p3o"]).run, self.client)
        before = len(self.server.jobs)
        study = self.study(patterns=["grpo*"])
        _, printed = self.quietly(study.run, self.client)
        self.assertIn("grpo seed 1: known already", printed)
        fresh = [spec["name"] for spec in list(self.server.jobs.values())[before:]]
        self.assertNotIn("grpo", fresh)
        self.assertIn("grpo-stale", fresh)
        self.assertEqual(study.pending(), [])

    def test_a_result_of_another_spec_is_not_taken_for_this_one(self):
        self.quietly(self.study(patterns=["grpo"]).run, self.client)
        longer = dataclasses.replace(run.SMOKE, steps=8)
        self.assertEqual(len(self.study(longer, ["grpo"]).pending()), 1)

    def test_a_failed_and_a_refused_job_are_named_and_do_not_stop_the_others(self):
        self.server.trouble.update({"grpo": "fails", "p3o": "refused"})
        study = self.study(patterns=["grpo", "p3o", "fade"])
        self.quietly(study.run, self.client)
        self.assertEqual(len(study.failures), 2)
        self.assertIn("the loss is not finite (diverged)", study.failures[0])
        self.assertIn("/objective/beta: must be above 0", study.failures[1])
        self.assertEqual([unit.name for unit in study.pending()], ["grpo", "p3o"])

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
