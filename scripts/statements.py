#!/usr/bin/env python3
"""Has PostgreSQL prepare every statement that the store's sources write out, whether a test comes by it or not.

    scripts/postgres.sh scripts/statements.py     with target/debug/anneal, or $ANNEAL_BIN

What is put together while the program runs, or by `concat!`, is left to tests, and so is what only SQLite is asked. A
parameter's type is what the program binds, which the sources do not say here: that PostgreSQL cannot tell it by itself is
no fault.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
from urllib.parse import urlsplit

STATEMENT = re.compile(r'"((?:select|insert|update|delete|with)\s(?:[^"\\]|\\.)*)"')
# PostgreSQL's own words.
IN_PART = "syntax error at end of input"
UNTYPED = re.compile(r"inconsistent types deduced|could not determine data type|but expression is of type text")


def statements(root):
    """Where each statement is, and its text."""
    for path in sorted((root / "src/store").rglob("*.rs")):
        text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        if "tests.rs" == path.name:
            continue
        for found in STATEMENT.finditer(text):
            begins_longer = re.search(r"(concat|format)!\(\s*$", text[: found.start()])
            if not begins_longer and not re.search(r"sqlite_master|pragma_", found[1]):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}", " ".join(found[1].replace('\\"', '"').split())


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    program = os.environ.get("ANNEAL_BIN", root / "target/debug/anneal")
    address = urlsplit(os.environ["ANNEAL_TEST_POSTGRES"])

    def ask(database, text):
        url = address._replace(path=f"/{database}").geturl()
        asked = subprocess.run(["psql", "-Xqd", url, "-c", text], capture_output=True, text=True, timeout=60)
        return asked.stderr.strip().split("\n")[0] if asked.returncode else None

    if error := ask("postgres", "create database statements template template0 lc_collate 'C' lc_ctype 'C'"):
        sys.exit(error)
    with tempfile.TemporaryDirectory() as folder:
        url = address._replace(path="/statements").geturl()
        migrate = [program, "db", "migrate", "--database", url, "--data-dir", folder]
        subprocess.run(migrate, check=True, stdout=subprocess.DEVNULL, timeout=300)
    prepared, wrong = 0, []
    for place, text in statements(root):
        error = ask("statements", f"prepare it as {text}")
        if error is None:
            prepared += 1
        elif IN_PART not in error and not UNTYPED.search(error):
            wrong.append(f"{place}: {error}\n    {text}")
    print(f"{prepared} statements are prepared, {len(wrong)} are not")
    if wrong or prepared < 300:
        sys.exit("\n".join(wrong) or "few statements were found")


if __name__ == "__main__":
    main()
