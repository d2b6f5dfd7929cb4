"""How schemathesis writes bodies that are not JSON."""

import json

import schemathesis


@schemathesis.serializer("application/jsonl")
def lines(context, value):
    """Rows as JSON Lines; anything else as text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return "\n".join(json.dumps(row) for row in value).encode()
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="surrogatepass")
