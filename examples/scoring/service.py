"""A scoring service for the verifier `http`: python3 service.py PORT [SECRET_FILE]. Python 3.9 and nothing else."""
import base64, hashlib, hmac, json, pathlib, re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(pathlib.Path(sys.argv[2]).read_text().strip()[len("whsec_"):]) if sys.argv[2:] else None

def verdict(case):  # what your service knows: here, that the last number is the answer
    numbers = re.findall(r"-?\d+", case["completion"])
    if case["answer"] is None:
        return {"error": "the row has no answer"}
    if not numbers:
        return {"unparsable": "there is no number"}
    right = numbers[-1] == case["answer"]
    return {"reward": float(right), "answer": numbers[-1], "reason": f"{numbers[-1]} beside {case['answer']}"}

def is_signed(headers, body):  # Standard Webhooks: the id, the time and the body under the secret's bytes
    content = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
    signature = "v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    is_new = abs(time.time() - int(headers.get("webhook-timestamp", 0))) < 300
    return is_new and any(hmac.compare_digest(signature, one) for one in headers.get("webhook-signature", "").split())

class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        known = KEY is None or is_signed(self.headers, body)
        answer = {"scores": [verdict(case) for case in json.loads(body)["cases"]]} if known else {"error": "not signed"}
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
