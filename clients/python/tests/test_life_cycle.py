"""The whole life of a job against the server at ANNEAL_URL, through the proxy at ANNEAL_CUT_URL that breaks connections."""

import hashlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

import httpx

from anneal_client import ApiError, DigestMismatch, connect, download_checkpoint, final_status, follow, unwrap
from anneal_client.generated import Client
from anneal_client.generated import models as m
from anneal_client.generated.api.checkpoints import get_checkpoint_manifest
from anneal_client.generated.api.datasets import create_dataset
from anneal_client.generated.api.jobs import cancel_job, create_job, get_job, get_job_metrics, list_job_checkpoints
from anneal_client.generated.types import File

KEY = os.environ.get("ANNEAL_API_KEY")
client = connect(os.environ["ANNEAL_URL"], KEY)
cutting = connect(os.environ["ANNEAL_CUT_URL"], KEY)


def cuts() -> int:
    return int(httpx.get(os.environ["ANNEAL_CUT_URL"] + "/cuts").text)


def spec(dataset: str, steps: int = 12) -> m.JobSpec:
    return m.JobSpec(
        name="python",
        model="builtin:arith-tiny",
        dataset=m.DatasetSpec(train=dataset),
        verifier=m.VerifierNumeric(type_="numeric"),
        objective=m.ObjectiveBolt(type_="bolt", group_size=4, rounds=2),
        sampling=m.SamplingSpec(max_new_tokens=5, batch_size=64),
        optimizer=m.OptimizerSpec(learning_rate=3e-4),
        train=m.TrainSpec(steps=steps, prompts_per_step=16),
        checkpoints=m.CheckpointSpec(every_steps=6),
    )


def upload() -> m.Dataset:
    rows = (json.dumps({"prompt": f"{a}+{b}=", "answer": str(a + b)}) for a in range(10) for b in range(10))
    body = File(io.BytesIO("\n".join(rows).encode()))
    return unwrap(create_dataset.sync_detailed(client=client, body=body, name="sums"))


class LifeCycle(unittest.TestCase):
    def test_a_job_is_followed_through_cuts_and_its_checkpoint_arrives_whole(self) -> None:
        dataset = upload()
        self.assertIsInstance(dataset, m.Dataset)
        self.assertEqual(dataset.latest.rows, 100)
        body = spec(dataset.id)
        plan = unwrap(create_job.sync_detailed(client=client, body=body, dry_run=m.DryRun.PREFLIGHT))
        self.assertIsInstance(plan, m.Preflight)
        first = unwrap(create_job.sync_detailed(client=client, body=body, idempotency_key=f"python-{dataset.id}"))
        second = unwrap(create_job.sync_detailed(client=client, body=body, idempotency_key=f"python-{dataset.id}"))
        self.assertEqual(first.id, second.id)

        before = cuts()
        events = list(follow(cutting, first.id))
        self.assertGreater(cuts(), before, "the stream was never cut")
        self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
        self.assertEqual(final_status(events[-1]), m.JobStatus.SUCCEEDED)
        losses = [event.data.values["loss"] for event in events if isinstance(event, m.MetricsEvent)]
        self.assertEqual([type(loss) for loss in losses], [float] * 12)
        self.assertEqual([e.seq for e in follow(client, first.id, after=len(events) - 2)], [len(events) - 1, len(events)])
        self.assertEqual(list(follow(client, first.id, after=len(events))), [])

        metrics = unwrap(get_job_metrics.sync_detailed(first.id, client=client, keys="reward/mean"))
        self.assertEqual(len(metrics.series[0].steps), 12)
        checkpoints = unwrap(list_job_checkpoints.sync_detailed(first.id, client=client)).data
        result = next(c for c in checkpoints if c.kind == m.CheckpointKind.INFERENCE)
        manifest = unwrap(get_checkpoint_manifest.sync_detailed(result.id, client=client))
        with tempfile.TemporaryDirectory() as folder:
            before = cuts()
            files = download_checkpoint(cutting, result.id, folder)
            self.assertGreater(cuts(), before, "the download was never cut")
            for path, file in zip(files, manifest.files, strict=True):
                self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), file.sha256)
            self.assertEqual(sorted(os.listdir(folder)), sorted(file.path for file in manifest.files))

    def test_a_download_continues_what_an_earlier_process_left(self) -> None:
        job = unwrap(create_job.sync_detailed(client=client, body=spec("builtin:arithmetic", 2)))
        list(follow(client, job.id))
        result = unwrap(list_job_checkpoints.sync_detailed(job.id, client=client)).data[0]
        file = max(result.files, key=lambda file: file.size)
        url = f"/v1/checkpoints/{result.id}/files/{file.path}"
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / f".{file.path}.{file.sha256[:16]}.part"
            part.write_bytes(client.get_httpx_client().get(url).content[:1000])
            download_checkpoint(client, result.id, folder)
            self.assertEqual(hashlib.sha256((Path(folder) / file.path).read_bytes()).hexdigest(), file.sha256)
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / f".{file.path}.{file.sha256[:16]}.part"
            part.write_bytes(b"spoilt")
            with self.assertRaises(DigestMismatch):
                download_checkpoint(client, result.id, folder)
            self.assertFalse(part.exists() or (Path(folder) / file.path).exists())

    def test_events_of_types_that_are_not_known_are_passed_over(self) -> None:
        common = {"id": "evt_1", "object": "event", "job": "job_1", "created_at": "", "level": "info", "message": ""}
        events = [
            {**common, "seq": 1, "type": "telepathy", "data": {}},
            {**common, "seq": 2, "type": "status", "data": {"status": "failed", "reason": "why"}},
        ]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        transport = httpx.MockTransport(lambda request: httpx.Response(200, text=text))
        server = Client(base_url="http://localhost")
        server.set_httpx_client(httpx.Client(base_url="http://localhost", transport=transport))
        self.assertEqual([event.seq for event in follow(server, "job_1")], [2])

    def test_a_job_is_cancelled_and_errors_have_codes(self) -> None:
        job = unwrap(create_job.sync_detailed(client=client, body=spec("builtin:arithmetic", 400)))
        unwrap(cancel_job.sync_detailed(job.id, client=client))
        self.assertEqual(final_status(list(follow(client, job.id))[-1]), m.JobStatus.CANCELLED)
        with self.assertRaises(ApiError) as conflict:
            unwrap(cancel_job.sync_detailed(job.id, client=client))
        self.assertEqual((conflict.exception.status, conflict.exception.code), (409, "conflict"))
        with self.assertRaises(ApiError) as missing:
            unwrap(get_job.sync_detailed("job_nothing", client=client))
        self.assertEqual((missing.exception.status, missing.exception.code), (404, "not_found"))
        with self.assertRaises(ApiError) as missing:
            list(follow(client, "job_nothing"))
        self.assertEqual(missing.exception.code, "not_found")
        wrong = spec("builtin:arithmetic")
        wrong.objective.group_size = 0
        with self.assertRaises(ApiError) as invalid:
            unwrap(create_job.sync_detailed(client=client, body=wrong))
        self.assertEqual(invalid.exception.code, "invalid_spec")
        self.assertEqual(invalid.exception.problem.errors[0].pointer, "/objective/group_size")


if __name__ == "__main__":
    unittest.main()
