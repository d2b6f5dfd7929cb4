"""A tool server for `sampling.environment`: python3 server.py PORT. Python 3.9 and nothing else.

A game: a row has a number, the model guesses it, and is told whether it is greater (`+`) or less (`-`) than the guess. What
is answered follows from the request alone, so that a job that goes on after a crash is told the same again."""
import json, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def answer(conversation):
    secret, turns = conversation["row"]["secret"], conversation["turns"]
    guess = re.search(r"\d+", turns[-1]["content"])  # the last turn is the model's
    if guess is None:
        return {"done": True, "reward": 0.0}  # it did not play
    if int(guess[0]) == secret:
        return {"done": True, "reward": 1.0}
    if conversation["last"]:
        return {"done": True, "reward": 0.0}
    return {"content": ("+" if secret > int(guess[0]) else "-") + conversation["prompt"]}

class Tools(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"answers": [answer(one) for one in asked["conversations"]]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Tools)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
