"""A proxy that breaks connections, for the end-to-end tests of the clients: event streams after a few hundred bytes,
downloads after a few hundred kilobytes, in the middle of lines and of chunks, sometimes politely and sometimes not; some
downloads end early as if they were whole.

    cutting_proxy.py SERVER_URL     prints its own address; GET /cuts answers with how often it has cut
"""

import asyncio
import random
import re
import sys
from urllib.parse import urlsplit

server = urlsplit(sys.argv[1])
chance = random.Random(7)
cuts = 0


async def head(reader: asyncio.StreamReader) -> tuple[bytes, dict[bytes, bytes]]:
    raw = await reader.readuntil(b"\r\n\r\n")
    lines = (line.partition(b":") for line in raw.split(b"\r\n")[1:] if line)
    return raw, {name.strip().lower(): value.strip() for name, _, value in lines}


def budget(headers: dict[bytes, bytes], path: bytes) -> int | None:
    """How many bytes of an answer pass before the connection breaks; none for all of them."""
    if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
        return chance.randint(200, 6000)
    if b"/files/" in path and int(headers.get(b"content-length", b"0")) > 300_000:
        return chance.randint(100_000, 300_000)
    return None


async def relay(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
    global cuts
    raw, headers = await head(client)
    path = raw.split(b" ", 2)[1]
    if path == b"/cuts":
        body = str(cuts).encode()
        answer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await answer.drain()
        return
    body = await client.readexactly(int(headers.get(b"content-length", b"0")))
    source, request = await asyncio.open_connection(server.hostname, server.port)
    try:
        # One request a connection.
        lines = [line for line in raw.rstrip().split(b"\r\n") if not line.lower().startswith(b"connection:")]
        request.write(b"\r\n".join([*lines, b"connection: close", b"", b""]) + body)
        raw, headers = await head(source)
        left = budget(headers, path)
        whole = left is not None and b"content-length" in headers and chance.random() < 0.4
        if whole:
            raw = re.sub(rb"(?i)(\r\ncontent-length: *)\d+", rb"\g<1>%d" % left, raw)
        answer.write(raw)
        while chunk := await source.read(1 << 16):
            if left is not None and len(chunk) >= left:
                answer.write(chunk[:left])
                await answer.drain()
                cuts += 1
                if not whole and chance.random() < 0.5:
                    answer.transport.abort()
                return
            left = left and left - len(chunk)
            answer.write(chunk)
            await answer.drain()
    finally:
        request.close()


async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
    try:
        await relay(client, answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        answer.close()


async def main() -> None:
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    async with listener:
        await listener.serve_forever()


asyncio.run(main())
