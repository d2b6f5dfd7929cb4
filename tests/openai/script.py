"""Goes through the OpenAI-compatible view with the unmodified `openai` client; only its base URL is another one.

Usage: python script.py http://127.0.0.1:8080 [API key]
Needs a server without jobs, on one device; takes about a minute. Ends with 0 when everything was as expected.
"""

import hashlib
import json
import sys
import time
from io import BytesIO

import openai
from openai import OpenAI

MODEL = "builtin:arith-tiny"
PROBLEMS = [(a, b) for a in range(2, 8) for b in range(3, 7)]


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def chat_rows():
    """What a supervised job learns from: the last message is the answer."""
    return jsonl(
        {
            "messages": [
                {"role": "user", "content": f"{a}+{b}="},
                {"role": "assistant", "content": str(a + b)},
            ]
        }
        for a, b in PROBLEMS
    )


def graded_rows():
    """What a reinforcement job samples for: columns beside the messages are for graders."""
    return jsonl(
        {"messages": [{"role": "user", "content": f"{a}+{b}="}], "reference": str(a + b), "answer": a + b}
        for a, b in PROBLEMS
    )


def fails(kind, code, call, *args, **kwargs):
    """The call raises this exception of the client with this code."""
    try:
        call(*args, **kwargs)
    except openai.APIStatusError as error:
        assert type(error) is kind, f"{type(error).__name__}: {error}"
        assert error.code == code, error.body
        assert error.body["message"], error.body
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def until(client, job, statuses):
    deadline = time.monotonic() + 200
    while job.status not in statuses:
        assert time.monotonic() < deadline, job
        time.sleep(0.05)
        job = client.fine_tuning.jobs.retrieve(job.id)
    return job


def finish(client, job):
    job = until(client, job, ["succeeded", "failed", "cancelled"])
    assert job.status == "succeeded", job
    return job


def check_files(client):
    content = chat_rows()
    file = client.files.create(file=("chat.jsonl", content), purpose="fine-tune")
    assert (file.object, file.filename, file.bytes, file.purpose) == ("file", "chat.jsonl", len(content), "fine-tune")
    assert file.sha256 == hashlib.sha256(content).hexdigest()
    assert client.files.retrieve(file.id) == file
    assert client.files.wait_for_processing(file.id).status == "processed"
    assert client.files.content(file.id).read() == content
    part = client.files.with_raw_response.content(file.id, extra_headers={"Range": "bytes=2-9"})
    assert part.http_response.status_code == 206 and part.content == content[2:10]
    other = client.files.create(
        file=BytesIO(b"notes"), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert other.expires_at == other.created_at + 3600
    assert [f.id for f in client.files.list(purpose="user_data")] == [other.id]
    # The client follows pages by itself.
    assert [f.id for f in client.files.list(limit=1)] == [other.id, file.id]
    assert [f.id for f in client.files.list(limit=1, order="asc")] == [file.id, other.id]
    deleted = client.files.delete(other.id)
    assert (deleted.id, deleted.deleted, deleted.object) == (other.id, True, "file")
    fails(openai.NotFoundError, "not_found", client.files.retrieve, other.id)
    fails(openai.NotFoundError, "not_found", client.files.content, "file-missing")
    fails(openai.UnprocessableEntityError, "invalid_spec", client.files.create, file=b"x", purpose="fun")
    return file


def check_uploads(client):
    content = graded_rows()
    upload = client.uploads.create(
        filename="graded.jsonl", purpose="fine-tune", bytes=len(content), mime_type="application/jsonl"
    )
    assert (upload.object, upload.status, upload.bytes) == ("upload", "pending", len(content))
    assert upload.expires_at == upload.created_at + 3600
    middle = len(content) // 2
    second = client.uploads.parts.create(upload.id, data=content[middle:])
    first = client.uploads.parts.create(upload.id, data=content[:middle])
    assert (first.object, first.upload_id) == ("upload.part", upload.id)
    complete = client.uploads.complete
    error = fails(openai.UnprocessableEntityError, "invalid_spec", complete, upload.id, part_ids=[first.id])
    assert error.param == "part_ids" and str(len(content)) in error.message
    ids = [first.id, second.id]
    fails(openai.UnprocessableEntityError, "invalid_spec", complete, upload.id, part_ids=ids, md5="0" * 32)
    upload = complete(upload.id, part_ids=ids, md5=hashlib.md5(content).hexdigest())
    assert upload.status == "completed" and upload.file.filename == "graded.jsonl", upload
    assert client.files.content(upload.file.id).read() == content
    fails(openai.ConflictError, "conflict", client.uploads.cancel, upload.id)

    chunked = client.uploads.upload_file_chunked(
        file=content, filename="again.jsonl", bytes=len(content), mime_type="application/jsonl", purpose="fine-tune",
        part_size=1000,
    )
    assert client.files.content(chunked.file.id).read() == content
    client.files.delete(chunked.file.id)

    other = client.uploads.create(filename="f", purpose="fine-tune", bytes=10, mime_type="text/plain")
    client.uploads.parts.create(other.id, data=b"12345")
    assert client.uploads.cancel(other.id).status == "cancelled"
    fails(openai.ConflictError, "conflict", client.uploads.parts.create, other.id, data=b"67890")
    return upload.file


STRING_CHECK = {
    "type": "string_check",
    "name": "right",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.reference }}",
    "operation": "eq",
}
MULTI = {
    "type": "multi",
    "name": "both",
    "graders": {
        "right": STRING_CHECK,
        "close": {
            "type": "text_similarity",
            "name": "close",
            "input": "{{ sample.output_text }}",
            "reference": "{{ item.reference }}",
            "evaluation_metric": "fuzzy_match",
        },
        "number": {"type": "numeric", "name": "number"},
    },
    "calculate_output": "0.5 * right + 0.5 * max(close, number)",
}


def check_graders(client):
    graders = client.fine_tuning.alpha.graders
    assert graders.validate(grader=STRING_CHECK).grader.reference == "{{ item.reference }}"
    item = {"reference": "12", "answer": 12}
    run = graders.run(grader=STRING_CHECK, item=item, model_sample="12")
    assert run.reward == 1.0 and run.metadata.scores == {"right": 1.0} and run.metadata.type == "string_check"
    assert not run.metadata.errors.other_error and run.metadata.execution_time >= 0
    run = graders.run(grader=MULTI, item=item, model_sample="13")
    assert run.sub_rewards == {"close": 0.5, "number": 0.0, "right": 0.0} and run.reward == 0.25, run
    run = graders.run(grader=STRING_CHECK, item={}, model_sample="12")
    assert run.metadata.errors.invalid_variable_error and "reference" in run.metadata.detail
    for kind in ["python", "score_model", "label_model"]:
        error = fails(
            openai.UnprocessableEntityError, "invalid_spec", graders.validate, grader={"type": kind, "name": "n"}
        )
        assert kind in error.message and "string_check" in error.message and error.param == "grader.type"
    cosine = MULTI["graders"]["close"] | {"evaluation_metric": "cosine"}
    error = fails(openai.UnprocessableEntityError, "invalid_spec", graders.validate, grader=cosine)
    assert "cosine" in error.message


def check_supervised(client, file):
    job = client.fine_tuning.jobs.create(
        model=MODEL,
        training_file=file.id,
        suffix="sums",
        seed=7,
        metadata={"kind": "supervised"},
        method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 2, "batch_size": 8}}},
    )
    assert job.object == "fine_tuning.job" and job.status in ["queued", "running"], job
    assert (job.model, job.training_file, job.seed) == (MODEL, file.id, 7)
    assert (job.hyperparameters.n_epochs, job.hyperparameters.batch_size) == (2, 8)
    assert job.fine_tuned_model is None and job.trained_tokens is None
    job = finish(client, job)
    assert job.fine_tuned_model.startswith("ckpt_") and job.trained_tokens > 0 and job.finished_at >= job.created_at
    assert job.error is None and job.result_files == []
    [checkpoint] = client.fine_tuning.jobs.checkpoints.list(job.id)
    assert checkpoint.fine_tuned_model_checkpoint == job.fine_tuned_model
    # Two epochs of all rows, eight rows a step.
    assert checkpoint.step_number == 2 * len(PROBLEMS) // 8 and checkpoint.metrics.train_loss > 0
    return job


def check_events(client, job):
    events = list(client.fine_tuning.jobs.list_events(job.id, limit=3))
    assert len({event.id for event in events}) == len(events) > 6
    assert events[0].message.startswith("succeeded") and events[-1].message.startswith("queued"), events
    assert all(event.object == "fine_tuning.job.event" for event in events)
    metrics = [event for event in events if event.type == "metrics"]
    assert metrics and all(event.data["train_loss"] > 0 for event in metrics)
    fails(openai.NotFoundError, "not_found", client.fine_tuning.jobs.list_events, job.id, after="evt_missing")


def check_reinforcement(client, file):
    for grader in [STRING_CHECK, MULTI]:
        job = client.fine_tuning.jobs.create(
            model=MODEL,
            training_file=file.id,
            validation_file=file.id,
            metadata={"kind": "reinforcement"},
            method={
                "type": "reinforcement",
                "reinforcement": {
                    "grader": grader,
                    "hyperparameters": {"batch_size": 12, "compute_multiplier": 0.5, "eval_samples": 1},
                },
            },
        )
        assert job.method.reinforcement.grader.name == grader["name"]
        job = finish(client, job)
        # The finished model is a model for the next job.
        assert client.models.retrieve(job.fine_tuned_model).owned_by == job.id
    return job


def check_objectives(client, file, start):
    rest = {"sampling": {"max_new_tokens": 5}, "hyperparameters": {"batch_size": 12}}
    bolt = {"type": "bolt", "bolt": {"beta": 0.25, "group_size": 4, "grader": STRING_CHECK, **rest}}
    made = [
        client.fine_tuning.jobs.create(model=MODEL, training_file=file.id, method=bolt, metadata={"kind": "bolt"}),
        client.fine_tuning.jobs.create(model=start, training_file=file.id, extra_body={"method": bolt}),
    ]
    for job in made:
        job = finish(client, job)
        assert job.method.type == "bolt" and job.method.bolt["beta"] == 0.25, job.method
    plain = client.get(f"/jobs/{job.id}", cast_to=object)
    assert plain["objective"] == "bolt" and plain["spec_resolved"]["verifier"]["type"] == "string_check"


def check_lists(client, supervised, reinforcement):
    jobs = client.fine_tuning.jobs
    assert jobs.list(limit=1).data[0].created_at >= supervised.created_at
    everything = [job.id for job in jobs.list(limit=2)]
    assert len(set(everything)) == len(everything) == 5 and everything[-1] == supervised.id
    assert [job.id for job in jobs.list(metadata={"kind": "supervised"})] == [supervised.id]
    assert [job.id for job in jobs.list(metadata={"kind": "reinforcement"})][0] == reinforcement.id
    assert [job.metadata for job in jobs.list(extra_query={"metadata": "null"})] == [{}]
    assert jobs.retrieve(supervised.id).fine_tuned_model == supervised.fine_tuned_model
    fails(openai.NotFoundError, "not_found", jobs.retrieve, "job_missing")


def check_control(client, file):
    jobs = client.fine_tuning.jobs
    long = {"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 5000, "batch_size": 2}}}
    busy = jobs.create(model=MODEL, training_file=file.id, method=long)
    busy = until(client, busy, ["running"])
    waiting = jobs.create(model=MODEL, training_file=file.id, method=long)
    fails(openai.ConflictError, "job_not_paused", jobs.resume, waiting.id)
    until(client, jobs.pause(waiting.id), ["paused"])
    assert jobs.resume(waiting.id).status == "queued"
    until(client, jobs.cancel(waiting.id), ["cancelled"])
    busy = until(client, jobs.cancel(busy.id), ["cancelled"])
    assert busy.fine_tuned_model is None
    error = fails(openai.ConflictError, "conflict", jobs.cancel, busy.id)
    assert error.response.headers["x-should-retry"] == "false"


def check_refusals(client, file):
    create = client.fine_tuning.jobs.create
    refused = openai.UnprocessableEntityError

    def param(expected, **request):
        error = fails(refused, "invalid_spec", create, **({"model": MODEL, "training_file": file.id} | request))
        assert error.param == expected, error.body

    param("model", model="gpt-4o-mini")
    param("training_file", training_file="file-missing")
    param("method.type", method={"type": "dpo", "dpo": {}})
    param("integrations", integrations=[{"type": "wandb", "wandb": {"project": "p"}}])
    param("method.supervised.hyperparameters.n_epochs",
          method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": -1}}})
    param("method.reinforcement.hyperparameters.reasoning_effort",
          method={"type": "reinforcement", "reinforcement": {
              "grader": STRING_CHECK, "hyperparameters": {"reasoning_effort": "low"}}})
    param("method.bolt.beta", method={"type": "bolt", "bolt": {"beta": -1, "grader": STRING_CHECK}})
    param("unknown", extra_body={"unknown": 1})
    broken = client.files.create(file=("broken.jsonl", b'{"messages": 3}\n'), purpose="fine-tune")
    param("training_file", training_file=broken.id)


def check_idempotency(client, file):
    """One key is one job, also when the file is another request's work by then."""
    request = {"model": MODEL, "training_file": file.id, "hyperparameters": {"n_epochs": 1}}
    headers = {"Idempotency-Key": "once"}
    first, second = [client.fine_tuning.jobs.create(**request, extra_headers=headers) for _ in range(2)]
    assert first.id == second.id and first.hyperparameters.n_epochs == 1
    finish(client, first)


def check_models(client, job):
    models = {model.id: model for model in client.models.list()}
    assert MODEL in models and job.fine_tuned_model in models
    for model in models.values():
        assert model.object == "model" and isinstance(model.created, int) and model.owned_by
    assert client.models.retrieve(MODEL).id == MODEL
    fails(openai.NotFoundError, "not_found", client.models.retrieve, "gpt-4o-mini")
    fails(openai.NotFoundError, "not_found", client.models.delete, "mdl_" + "0" * 32)
    fails(openai.ConflictError, "conflict", client.models.delete, MODEL)


def main():
    base = sys.argv[1].rstrip("/")
    key = sys.argv[2] if len(sys.argv) > 2 else "none"
    client = OpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0)
    chat = check_files(client)
    graded = check_uploads(client)
    check_graders(client)
    supervised = check_supervised(client, chat)
    check_events(client, supervised)
    reinforcement = check_reinforcement(client, graded)
    check_objectives(client, graded, supervised.fine_tuned_model)
    check_lists(client, supervised, reinforcement)
    check_control(client, chat)
    check_refusals(client, chat)
    check_idempotency(client, chat)
    check_models(client, supervised)
    client.files.delete(chat.id)
    assert client.fine_tuning.jobs.retrieve(supervised.id).training_file == chat.id
    print("the stock client works")


if __name__ == "__main__":
    main()
