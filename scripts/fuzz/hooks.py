"""How schemathesis writes bodies that are not JSON, and how often each status was answered."""

import atexit
import collections
import json
import os

import schemathesis

answers = collections.Counter()


@schemathesis.hook
def after_call(context, case, response):
    answers[response.status_code] += 1


@atexit.register
def tell():
    """Writes the counts to the file $ANNEAL_FUZZ_ANSWERS, if there were any answers."""
    path = os.environ.get("ANNEAL_FUZZ_ANSWERS")
    if path and answers:
        with open(path, "w") as file:
            json.dump(dict(sorted(answers.items())), file)


@schemathesis.serializer("application/jsonl")
def lines(context, value):
    """Rows as JSON Lines; anything else as text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return "\n".join(json.dumps(row) for row in value).encode()
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="surrogatepass")
