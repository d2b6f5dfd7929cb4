"""Jobs as a notebook uses them, against the server at ANNEAL_URL."""

import os
import tempfile
import unittest
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import anneal_client as anneal

client = anneal.Client(os.environ["ANNEAL_URL"], os.environ.get("ANNEAL_API_KEY"))

SPEC = {
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic", "eval": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "bolt", "group_size": 4, "rounds": 2},
    "sampling": {"max_new_tokens": 5, "batch_size": 64},
    "train": {"steps": 6, "prompts_per_step": 8},
    "eval": {"samples": 2, "pass_at": [1], "prompts": 10},
}


class Jobs(unittest.TestCase):
    def test_a_job_from_the_spec_to_its_model(self) -> None:
        self.assertEqual(client.jobs.preflight(SPEC)["plan"]["rounds"], 2)
        job = client.jobs.create(SPEC, name="notebook")
        self.assertIn("notebook", repr(job))
        self.assertEqual(job.watch().status, "succeeded")
        self.assertIs(job.wait(timeout=1), job)
        self.assertIn("pass@1", repr(job))
        self.assertIn("<progress", job._repr_html_())
        metrics = job.metrics("loss", "reward/mean")
        self.assertEqual(sorted(metrics), ["loss", "reward/mean"])
        self.assertEqual(sorted(metrics["loss"]), [1, 2, 3, 4, 5, 6])
        frame = metrics.to_pandas()
        self.assertEqual((list(frame.columns), frame.index.name, len(frame)), (["loss", "reward/mean"], "step", 6))
        rollout = next(job.rollouts(limit=3))
        self.assertTrue(rollout["prompt"] and rollout["pieces"])
        self.assertIsInstance(job.diagnoses(), list)
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue((job.download(Path(folder) / "model") / "model.safetensors").exists())
        self.assertEqual(client.jobs.get("notebook@latest").id, job.id)
        self.assertEqual(next(client.jobs.list(q="notebook", status="succeeded")).id, job.id)
        again = job.fork({"op": "add", "path": "/seed", "value": 2})
        self.assertEqual(again.data["forked_from"], job.id)
        again.wait()

    def test_a_notebook_shows_a_bar_that_moves(self) -> None:
        shell = InteractiveShell.instance()
        self.addCleanup(InteractiveShell.clear_instance)
        shell.push({"job": client.jobs.create(SPEC)})
        with capture_output() as seen:
            shell.run_cell("job.watch();")
        shown = [output for output in seen.outputs if "<progress" in output.data.get("text/html", "")]
        self.assertGreater(len(shown), 1)
        self.assertEqual(len({output.transient["display_id"] for output in shown}), 1, "it is one output")
        self.assertEqual([output.update for output in shown], [False] + [True] * (len(shown) - 1))
        self.assertIn('max="6" value="6"', shown[-1].data["text/html"])
        self.assertNotIn("&lt;", shown[-1].data["text/html"])

    def test_what_goes_wrong_says_so(self) -> None:
        with self.assertRaises(anneal.ApiError) as refused:
            client.jobs.create(SPEC, objective={"type": "bolt", "beta": -1})
        self.assertEqual(refused.exception.code, "invalid_spec")
        self.assertEqual(refused.exception.problem.errors[0].pointer, "/objective/beta")
        job = client.jobs.create(SPEC, train={"steps": 5000, "prompts_per_step": 8})
        with self.assertRaises(TimeoutError):
            job.wait(timeout=0.5)
        with self.assertRaises(ValueError):
            job.download("nowhere")
        job.cancel()
        with self.assertRaises(anneal.JobFailed) as ended:
            job.wait()
        self.assertEqual(ended.exception.job.status, "cancelled")
