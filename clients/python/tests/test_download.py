"""Downloads from a server that ends its answers early and cleanly, or not at all where they should."""

import hashlib
import os
import tempfile
import unittest

import httpx

from anneal_client import ConnectionLost, DigestMismatch, connect, download_checkpoint

CONTENT = bytes(range(256)) * 4
NAME = "step 1 #50%.bin"


class Server:
    """Ends each answer cleanly after `most` bytes, and sends `tail` behind the end of the file."""

    def __init__(self, most: int, tail: bytes = b"") -> None:
        self.most, self.tail, self.downloads = most, tail, 0
        self.client = connect("http://server")
        http = httpx.Client(base_url="http://server", transport=httpx.MockTransport(self.answer))
        self.client.set_httpx_client(http)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/manifest"):
            file = {"path": NAME, "size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
            head = {"format": 1, "kind": "inference", "job": "job_1", "attempt": 1, "step": 1, "spec_digest": "sha256:0"}
            return httpx.Response(200, json=head | {"files": [file]})
        assert request.url.path == f"/v1/checkpoints/ck_1/files/{NAME}", request.url
        self.downloads += 1
        offset = int(request.headers.get("range", "bytes=0-")[len("bytes=") : -1])
        headers = {"content-range": f"bytes {offset}-{len(CONTENT) - 1}/{len(CONTENT)}"}
        body = iter([(CONTENT + self.tail)[offset : offset + self.most]])
        return httpx.Response(206 if offset else 200, headers=headers, content=body)


class Download(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_answers_that_end_early_are_continued(self) -> None:
        server = Server(most=400)
        (path,) = download_checkpoint(server.client, "ck_1", self.folder)
        self.assertEqual((path.read_bytes(), server.downloads), (CONTENT, 3))

    def test_answers_without_a_byte_exhaust_the_patience(self) -> None:
        server = Server(most=0)
        with self.assertRaises(ConnectionLost):
            download_checkpoint(server.client, "ck_1", self.folder, retries=2)
        self.assertEqual(server.downloads, 3)

    def test_a_file_that_is_too_long_leaves_nothing(self) -> None:
        server = Server(most=2000, tail=b"more")
        with self.assertRaisesRegex(DigestMismatch, "longer"):
            download_checkpoint(server.client, "ck_1", self.folder)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
