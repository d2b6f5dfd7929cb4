"""What the scripts of this folder ask a server for."""

import io
import json
import os
import subprocess
import tarfile
import time
import urllib.error
import urllib.request


def request(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(call, timeout=120) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.code} {error.read().decode()}") from None


def ended(url, ends):
    """What is there when it has come to one of its ends."""
    for _ in range(6000):
        row = json.loads(request(url))
        if row["status"] in ends:
            return row
        time.sleep(0.1)
    raise SystemExit(f"{url} is still {row['status']}")


def brought(base, path, beside=None):
    """The id of what `anneal models import` brings, and nothing; or nothing, and the problem with which it is refused."""
    command = [os.environ["ANNEAL"], "models", "import", str(path), "--server", base, "--json"]
    command += [] if beside is None else ["--base", beside]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    return (json.loads(done.stdout)["id"], None) if done.returncode == 0 else (None, json.loads(done.stderr))


def trained_by(base, spec, folder):
    """The finished model or adapter of a job, unpacked."""
    job = json.loads(request(f"{base}/v1/jobs", spec))["id"]
    row = ended(f"{base}/v1/jobs/{job}", ("succeeded", "failed", "cancelled"))
    assert row["status"] == "succeeded", f"{folder}: {row.get('failure') or row['status']}"
    checkpoint = row["result"]["checkpoint"]
    return checkpoint, unpacked(f"{base}/v1/checkpoints/{checkpoint}/archive", folder)


def export_of(base, checkpoint, body, folder):
    """An export of a checkpoint, unpacked."""
    export = json.loads(request(f"{base}/v1/checkpoints/{checkpoint}/exports", body))["id"]
    row = ended(f"{base}/v1/exports/{export}", ("ready", "failed"))
    assert row["status"] == "ready", f"{folder}: {row['failure']}"
    return unpacked(f"{base}/v1/exports/{export}/archive", folder)


def unpacked(url, folder):
    with tarfile.open(fileobj=io.BytesIO(request(url))) as files:
        files.extractall(folder, filter="data")
    return folder
