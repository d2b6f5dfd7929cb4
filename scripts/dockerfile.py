#!/usr/bin/env python3
"""Prints what a target of a Dockerfile is made of, as calls that scripts/check_image.sh defines.

    python3 scripts/dockerfile.py Dockerfile cpu
    python3 scripts/dockerfile.py --context .           the files that .dockerignore lets through, one a line

Understands what this project's Dockerfile uses: FROM, ARG, RUN, COPY, ENV, WORKDIR, USER, VOLUME, EXPOSE,
HEALTHCHECK, STOPSIGNAL, ENTRYPOINT and CMD; anything else is an error, so that nothing goes untested unnoticed.
"""

import fnmatch
import json
import os
import re
import shlex
import sys

DETAILS = ("ENTRYPOINT", "CMD", "HEALTHCHECK")
PLAIN = ("WORKDIR", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL")


def fail(text):
    sys.exit(f"dockerfile.py: {text}")


def instructions(text):
    """Pairs of instruction and arguments, with continued lines joined and comments left out."""
    joined = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not line.strip() and not joined):
            continue
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        word, _, rest = (joined + line).strip().partition(" ")
        joined = ""
        yield word.upper(), rest.strip()
    if joined:
        fail("the last line is continued")


def filled(text, values):
    """`text` with $NAME and ${NAME} replaced."""
    return re.sub(r"\$\{?(\w+)\}?", lambda name: values.get(name[1], ""), text)


def flags(rest):
    """The leading --name=value flags, and what is behind them."""
    found = {}
    while match := re.match(r"--([\w-]+)=(\S+)\s+", rest):
        found.setdefault(match[1], []).append(match[2])
        rest = rest[match.end() :]
    return found, rest


def read(path):
    """The stages by name, each as (base, steps), in the order of the file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    arguments, stages, name = {}, {}, None
    for word, rest in instructions(text):
        if word == "FROM":
            match = re.fullmatch(r"(\S+)\s+AS\s+(\S+)", filled(rest, arguments), re.IGNORECASE)
            if not match:
                fail(f"FROM {rest}: every stage needs a name")
            name = match[2]
            stages[name] = (match[1], [])
        elif name is None:
            if word != "ARG":
                fail(f"{word} before the first FROM")
            key, _, value = rest.partition("=")
            arguments[key] = value
        else:
            stages[name][1].extend(steps(word, rest))
    return stages


def steps(word, rest):
    """The calls for one instruction of a stage."""
    if word == "ARG":
        return []
    if word == "RUN":
        return [["run", flags(rest)[1]]]
    if word == "COPY":
        found, rest = flags(rest)
        return [["copy", found.get("from", [""])[0], *rest.split()]]
    if word == "ENV":
        return [["env", *pair.split("=", 1)] for pair in shlex.split(rest)]
    if word in PLAIN:
        return [[word.lower(), rest]]
    if word in DETAILS:
        command = flags(rest)[1]
        if word == "HEALTHCHECK":
            command = re.sub(r"^CMD\s+", "", command)
        if not command.startswith("["):
            fail(f"{word} {rest}: only the form with brackets is understood, it needs no shell in the image")
        return [[word.lower(), *json.loads(command)]]
    return fail(f"{word} is not understood")


def ignored(path, patterns):
    """Whether the last pattern that is about `path` or a folder above it leaves it out."""
    parts = path.split("/")
    places = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    out = False
    for pattern in patterns:
        wanted = pattern.startswith("!")
        # As in Docker, `*` does not reach over a slash: `*` alone is every name at the top.
        text = pattern.lstrip("!")
        if any(text.count("/") == place.count("/") and fnmatch.fnmatchcase(place, text) for place in places):
            out = not wanted
    return out


def context(root):
    """Prints the files below `root` that are sent to a build."""
    with open(os.path.join(root, ".dockerignore"), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    patterns = [line for line in lines if line and not line.startswith("#")]
    skipped = {".git", "target"}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - skipped)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not ignored(path, patterns):
                print(path)


def main():
    if len(sys.argv) != 3:
        fail("usage: dockerfile.py DOCKERFILE TARGET, or dockerfile.py --context FOLDER")
    if sys.argv[1] == "--context":
        context(sys.argv[2])
        return
    stages, target = read(sys.argv[1]), sys.argv[2]
    if target not in stages:
        fail(f"there is no target {target}; there are: {', '.join(stages)}")
    wanted = {target}
    for name in reversed(stages):
        if name in wanted:
            base, calls = stages[name]
            wanted.update({base, *(call[1] for call in calls if call[0] == "copy" and call[1])})
    for name, (base, calls) in stages.items():
        if name in wanted:
            print(shlex.join(["stage", name, base]))
            for call in calls:
                print(shlex.join(["step_" + call[0], *call[1:]]))
    print("finish")


if __name__ == "__main__":
    main()
