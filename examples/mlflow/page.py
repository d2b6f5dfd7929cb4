"""MLflow's own page over the jobs of a server, read only: python3 page.py http://127.0.0.1:8080 5000 [mlflow-3.17.2-py3-none-any.whl]

The page is that of the installed package `mlflow`, or of its wheel (`pip download --no-deps mlflow`), which nothing else is needed of.
It asks the server that it comes from; so this one sends it the page, hands its questions on, and answers those that MLflow's own
server answers in GraphQL from the same routes. With keys, `ANNEAL_API_KEY` holds one that may read. For people on this machine:
whoever reaches the port reads what the key reads. Python 3.9 and nothing else.
"""
import importlib.util, json, mimetypes, os, pathlib, re, shutil, sys, urllib.error, urllib.parse, urllib.request, zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API = "/api/2.0/mlflow/"
FILES = "/api/2.0/mlflow-artifacts/artifacts"
MOST_BODY = 1 << 20
# Fields that are lists where there is nothing, too.
LISTS = {"tags", "metrics", "params", "runs", "modelVersions", "datasetInputs", "modelInputs", "modelOutputs"}
# What the server answers as it is asked.
READ = {"experiments/search", "experiments/get", "experiments/get-by-name", "runs/search", "runs/get", "metrics/get-history"}
# What jobs have none of, and the page asks for all the same.
NONE = {
    "experiments/search-datasets": {"dataset_summaries": []},
    "logged-models/search": {"models": []},
    "model-versions/search": {"model_versions": []},
}


def page_of(wheel):
    """What reads a file of the page by its path."""
    if wheel:
        archive = zipfile.ZipFile(wheel)
        return lambda path: archive.read("mlflow/server/js/build/" + path)
    package = importlib.util.find_spec("mlflow")
    if package is None:
        sys.exit("mlflow is not installed; name its wheel: pip download --no-deps mlflow")
    folder = (pathlib.Path(package.origin).parent / "server/js/build").resolve()
    return lambda path: next(one for one in [(folder / path).resolve()] if folder in one.parents).read_bytes()


def open_answer(path, /, body=None, **query):
    """The server's answer."""
    if query:
        path += "?" + urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data, {"content-type": "application/json"})
    if os.environ.get("ANNEAL_API_KEY"):
        request.add_header("authorization", "Bearer " + os.environ["ANNEAL_API_KEY"])
    return urllib.request.urlopen(request, timeout=60)


def known(path, /, body=None, **query):
    with open_answer(path, body, **query) as answer:
        return json.load(answer)


def histories(runs, key):
    """A metric of several runs."""
    found = {run: known(API + "metrics/get-history", run_id=run, metric_key=key)["metrics"] for run in runs}
    return [{**point, "run_id": run} for run, points in found.items() for point in points]


def run_of(found):
    info = {**found["info"], "run_uuid": found["info"]["run_id"]}
    experiment = known(API + "experiments/get", experiment_id=info["experiment_id"])["experiment"]
    return {**found, "info": info, "experiment": experiment, "modelVersions": []}


def resolve(field, asked):
    """What a GraphQL field is, in MLflow's REST terms."""
    if field == "mlflowGetRun":
        return {"run": run_of(known(API + "runs/get", run_id=asked["runId"])["run"])}
    if field == "mlflowSearchRuns":
        body = {"experiment_ids": asked["experimentIds"], "filter": asked.get("filter") or ""}
        return {"runs": [run_of(run) for run in known(API + "runs/search", body).get("runs", [])]}
    if field == "mlflowGetExperiment":
        return known(API + "experiments/get", experiment_id=asked["experimentId"])
    if field == "mlflowGetMetricHistoryBulkInterval":
        return {"metrics": histories(asked["runIds"], asked["metricKey"])}
    return None


def shaped(words, value):
    """The fields that a selection names, up to its brace, in their order; what there is none of is null."""
    out, last = {}, None
    for word in words:
        if word == "}":
            break
        if word == "{":
            child = out[last]
            rest = list(until_closed(words))
            several = isinstance(child, list)
            each = [shaped(iter(rest), one) for one in (child if several else [child]) if one is not None]
            out[last] = each if several else (each[0] if each else None)
            continue
        last = word
        snake = re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), word)
        out[word] = "Of" if word == "__typename" else value.get(word, value.get(snake, [] if word in LISTS else None))
    return out


def until_closed(words):
    depth = 1
    for word in words:
        depth += {"{": 1, "}": -1}.get(word, 0)
        yield word
        if depth == 0:
            return


def graphql(body):
    query = re.sub(r'@\w+\([^)]*\)|\([^()]*\)', " ", body["query"])
    words = iter(re.findall(r"[{}]|\w+", query[query.index("{") + 1:]))
    asked = next(iter(body["variables"].values()))
    field = next(words)
    next(words)
    return {"data": {field: shaped(words, resolve(field, asked) or {})}}


class Page(BaseHTTPRequestHandler):
    def send(self, content, kind, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def told(self, value, status=200):
        self.send(json.dumps(value).encode(), "application/json", status)

    def refuse(self, status, code, message):
        self.told({"error_code": code, "message": message}, status)

    def hand_on(self, path, body=None, **query):
        with open_answer(path, body, **query) as answer:
            self.send_response(200)
            for name in ("content-type", "content-length"):
                self.send_header(name, answer.headers[name])
            self.end_headers()
            shutil.copyfileobj(answer, self.wfile)

    def answer(self, url, body):
        query = urllib.parse.parse_qs(url.query)
        one = {name: values[-1] for name, values in query.items()}
        path = url.path.split("ajax-api/2.0/mlflow/", 1)[-1]
        run = urllib.parse.quote(one.get("run_id") or one.get("run_uuid") or "", safe="")
        if url.path == "/graphql":
            self.told(graphql(body))
        elif path == "metrics/get-history-bulk-interval":
            self.told({"metrics": histories(query["run_ids"], one["metric_key"])})
        elif path == "artifacts/list":
            self.told({"root_uri": "", **known(FILES, path="/".join([run, *filter(None, [one.get("path")])]))})
        elif url.path == "/get-artifact":
            self.hand_on(f"{FILES}/{run}/{urllib.parse.quote(one['path'])}")
        elif path in NONE:
            self.told(NONE[path])
        elif path == "runs/search" and "mlflow.parentRunId" in body.get("filter", ""):
            self.told({"runs": []})
        elif path in READ:
            self.hand_on(API + path, body if self.command == "POST" else None, **one)
        elif url.path.startswith("/static-files/"):
            name = url.path[len("/static-files/"):]
            self.send(PAGE(name), mimetypes.guess_type(name)[0] or "application/octet-stream")
        elif url.path == "/":
            self.send(PAGE("index.html"), "text/html")
        else:
            self.refuse(404, "ENDPOINT_NOT_FOUND", "jobs have none of it")

    def do_GET(self):
        """Answers nobody's page but its own: a name that leads here is not ours, and neither is another origin."""
        here = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        origin = urllib.parse.urlsplit(self.headers.get("origin") or "").netloc
        length = int(self.headers.get("content-length") or 0) if (self.headers.get("content-length") or "0").isdigit() else -1
        if self.headers.get("host") not in here or (origin and origin not in here):
            return self.refuse(403, "PERMISSION_DENIED", "this is a page of 127.0.0.1")
        if not 0 <= length <= MOST_BODY:
            return self.refuse(413, "INVALID_PARAMETER_VALUE", f"a body has at most {MOST_BODY} bytes")
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
            self.answer(urllib.parse.urlsplit(self.path), body)
        except urllib.error.HTTPError as error:
            self.send(error.read(), "application/json", error.code)
        except urllib.error.URLError as error:
            self.refuse(502, "INTERNAL_ERROR", f"{SERVER}: {error.reason}")
        except (AttributeError, IndexError, KeyError, OSError, StopIteration, TypeError, ValueError) as error:
            self.refuse(404, "INVALID_PARAMETER_VALUE", repr(error))

    do_POST = do_GET

    def log_message(self, *of):
        pass


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    SERVER, PAGE = sys.argv[1].rstrip("/"), page_of(sys.argv[3] if sys.argv[3:] else None)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Page)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
