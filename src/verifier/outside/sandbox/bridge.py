"""Tests in one process, the tested program in another, and plain values in between.

The judge runs the tests; every name of the program that they use stands for a call through a pipe to the solver, which
runs the program. What comes back is rebuilt from plain data, so that a result which claims to equal everything, a patched
`assert`, a hook on exit or a search through the memory has nothing to work on: expected values and the verdict are in the
judge alone. An object of the program's own classes stays with the solver and is reached through a handle; it equals no
plain value, whatever it says.
"""

import ast
import builtins
import collections
import decimal
import fractions
import importlib
import json
import operator
import os
import signal
import struct
import sys
import traceback
import types

MOST_MESSAGE = 16 << 20
MOST_WHY = 300
# A longer table of the program is nothing that tests ask for.
MOST_GLOBAL = 1 << 16


class Gone(BaseException):
    """The other side has ended; no test may take it for an error of its own."""


class ProgramError(Exception):
    """An exception of a class that only the program has."""


class Pipe:
    def __init__(self, fd_in, fd_out):
        self.fd_in, self.fd_out = fd_in, fd_out

    def send(self, value):
        data = json.dumps(value).encode()
        data = struct.pack("<I", len(data)) + data
        try:
            while data:
                data = data[os.write(self.fd_out, data) :]
        except OSError:
            raise Gone from None

    def receive(self):
        (length,) = struct.unpack("<I", self.exactly(4))
        if length > MOST_MESSAGE:
            raise Gone
        return json.loads(self.exactly(length))

    def exactly(self, count):
        parts = []
        while count:
            part = os.read(self.fd_in, min(count, 1 << 20))
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


OPERATIONS = {
    name: getattr(operator, name)
    for name in """getitem setitem delitem lt le gt ge eq ne add sub mul truediv floordiv mod pow neg pos and_ or_ xor matmul
    lshift rshift invert abs index""".split()
}
OPERATIONS.update(
    len=len, iter=iter, next=next, str=str, repr=repr, bool=bool, hash=hash, int=int, float=float, getattr=getattr,
    setattr=setattr, call=lambda target, args, named: target(*args, **named), isinstance=isinstance, reversed=reversed,
    round=round, format=format,
)


class Codec:
    """Values as JSON. `own` keeps what cannot leave this side; `theirs` makes what stands for the other side's."""

    def __init__(self, theirs, keeps):
        self.own, self.theirs, self.keeps = [], theirs, keeps

    def encode(self, value):
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(1 << 53) < value < 1 << 53 else {"int": hex(value)}
        if kind is float:
            return value if value - value == 0 else {"float": repr(value)}
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple or isinstance(value, tuple) and hasattr(kind, "_fields"):
            return {"tuple": [self.encode(item) for item in tuple(value)]}
        if kind is dict:
            return {"dict": self.items(value)}
        if kind in (set, frozenset, collections.deque):
            return {kind.__name__: [self.encode(item) for item in value]}
        if kind in (bytes, bytearray):
            return {kind.__name__: value.hex()}
        if kind is complex:
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if kind in (collections.OrderedDict, collections.Counter, collections.defaultdict):
            return {kind.__name__: self.items(value)}
        if kind in (fractions.Fraction, decimal.Decimal):
            return {kind.__name__: str(value)}
        if kind is range:
            return {"range": [self.encode(part) for part in (value.start, value.stop, value.step)]}
        if kind is types.ModuleType:
            return {"module": value.__name__}
        if kind is types.BuiltinFunctionType and getattr(sys.modules.get(value.__module__), value.__name__, None) is value:
            return {"import": [value.__module__, value.__name__]}
        if kind.__module__ == "numpy" and hasattr(value, "tolist"):
            return {"array" if kind.__name__ == "ndarray" else "scalar": self.encode(value.tolist())}
        if kind is Remote:
            return {"theirs": object.__getattribute__(value, "_number")}
        return {"own": self.keep(value)}

    def items(self, value):
        return [[self.encode(key), self.encode(item)] for key, item in value.items()]

    def keep(self, value):
        if not self.keeps(value):
            raise TypeError("a %s of the tests cannot be given to the program" % type(value).__name__)
        for number, kept in enumerate(self.own):
            if kept is value:
                return number
        self.own.append(value)
        return len(self.own) - 1

    def decode(self, data):
        if isinstance(data, list):
            return [self.decode(item) for item in data]
        if not isinstance(data, dict):
            return data
        ((kind, of),) = data.items()
        if kind in ("dict", "OrderedDict", "Counter"):
            target = {} if kind == "dict" else getattr(collections, kind)()
            for key, item in of:
                target[self.decode(key)] = self.decode(item)
            return target
        if kind == "defaultdict":
            return collections.defaultdict(None, ((self.decode(key), self.decode(item)) for key, item in of))
        if kind in ("tuple", "set", "frozenset"):
            return getattr(builtins, kind)(self.decode(item) for item in of)
        if kind in ("bytes", "bytearray"):
            return getattr(builtins, kind).fromhex(of)
        if kind in ("complex", "range"):
            return getattr(builtins, kind)(*(self.decode(part) for part in of))
        return self.decode_rest(kind, of)

    def decode_rest(self, kind, of):
        if kind == "int":
            return int(of, 16)
        if kind == "float":
            return float(of)
        if kind == "deque":
            return collections.deque(self.decode(item) for item in of)
        if kind == "Fraction":
            return fractions.Fraction(of)
        if kind == "Decimal":
            return decimal.Decimal(of)
        if kind == "array":
            return importlib.import_module("numpy").array(self.decode(of))
        if kind == "scalar":
            return self.decode(of)
        if kind == "theirs":
            return self.own[of]
        if kind == "own":
            return self.theirs(of)
        raise Gone


def standard(name):
    """A module of the interpreter's own, made anew; what the program did to its own copy does not count."""
    if name.partition(".")[0] not in sys.stdlib_module_names and name != "numpy":
        raise ImportError(name)
    return importlib.import_module(name)


def described(error):
    """The class and the text of an exception, whatever its class does when it is asked."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    return [type(error).__name__, text[:MOST_WHY]]


MUTABLE = (list, dict, set, bytearray, collections.deque, collections.OrderedDict, collections.Counter, collections.defaultdict)

# ---- the solver ----


class Solver:
    def __init__(self, pipe):
        self.pipe = pipe
        back = lambda number: lambda *args, **named: self.call_back(number, args, named)
        self.codec = Codec(back, lambda value: True)

    def call_back(self, number, args, named):
        encode = self.codec.encode
        self.pipe.send({"call": number, "args": [encode(item) for item in args], "named": {k: encode(v) for k, v in named.items()}})
        return self.answered(self.serve())

    def answered(self, answer):
        if "error" in answer:
            raise getattr(builtins, answer["error"][0], ProgramError)(answer["error"][1])
        return self.codec.decode(answer["value"])

    def load(self, text):
        module = types.ModuleType("solution")
        sys.modules["solution"] = module
        exec(compile(text, "solution.py", "exec"), module.__dict__)
        names = {}
        for name, value in list(module.__dict__.items()):
            if not name.startswith("__"):
                try:
                    data = self.codec.encode(value)
                except Exception:
                    continue
                if isinstance(data, dict) or len(json.dumps(data)) <= MOST_GLOBAL:
                    names[name] = data
        return names

    def serve(self):
        """Does what the judge asks until it answers a call of this side."""
        while True:
            request = self.pipe.receive()
            if "do" not in request:
                return request
            try:
                args = [self.codec.decode(item) for item in request["args"]]
                given = args[1] if request["do"] == "call" else []
                before = [self.codec.encode(item) if type(item) in MUTABLE else None for item in given]
                value = OPERATIONS[request["do"]](*args)
                answer = {"value": self.codec.encode(value)}
                for place, item in enumerate(given):
                    if before[place] is not None:
                        after = self.codec.encode(item)
                        if item is value:
                            answer["same"] = place
                        if after != before[place]:
                            answer.setdefault("changed", {})[place] = after
            except Gone:
                raise
            except BaseException as error:
                answer = {"error": described(error)}
            self.pipe.send(answer)


def run_solver(limits, program):
    text = contents(5)
    solver = Solver(Pipe(3, 4))
    sys.stdin, sys.stdout = open(0), open(1, "w")
    sys.stderr = open(2, "w", buffering=1)
    sys.argv = ["main.py"]
    confine(limits, program)
    try:
        names = solver.load(text)
    except BaseException as error:
        solver.pipe.send({"error": described(error)})
        return 1
    solver.pipe.send({"names": names})
    try:
        solver.serve()
    except Gone:
        pass
    return 0


# ---- the judge ----

JUDGE = None


class Remote:
    """An object of the program, which the program alone has."""

    def __init__(self, number):
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name):
        return JUDGE.ask("getattr", self, name)

    def __setattr__(self, name, value):
        JUDGE.ask("setattr", self, name, value)

    def __call__(self, *args, **named):
        return JUDGE.ask("call", self, list(args), named)

    def __eq__(self, other):
        return type(other) is Remote and JUDGE.ask("eq", self, other) is True

    def __ne__(self, other):
        return not self == other

    def __bool__(self):
        return JUDGE.ask("bool", self) is True

    def __contains__(self, value):
        return any(item == value for item in iter(self))

    def __instancecheck__(self, value):
        return type(value) is Remote and JUDGE.ask("isinstance", value, self) is True


def forwarded(operation):
    return lambda self, *args: JUDGE.ask(operation, self, *args)


def among_remotes(operation):
    """The program is never handed a value that it could be compared with, such as an expected one."""
    return lambda self, other: JUDGE.ask(operation, self, other) if type(other) is Remote else NotImplemented


for _name in """getitem setitem delitem neg pos invert abs index len iter next str repr hash int float reversed round
format""".split():
    setattr(Remote, "__%s__" % _name, forwarded(_name))
for _name in "lt le gt ge add sub mul truediv floordiv mod pow and_ or_ xor matmul lshift rshift".split():
    setattr(Remote, "__%s__" % _name.rstrip("_"), among_remotes(_name))


def refill(old, new):
    """Gives a container of the tests what the program put into it."""
    if isinstance(old, (list, bytearray)):
        old[:] = new
    elif isinstance(old, collections.deque):
        old.clear()
        old.extend(new)
    else:
        old.clear()
        old.update(new)


class Judge:
    def __init__(self, pipe, verdict, nonce):
        self.pipe, self.verdict, self.nonce = pipe, verdict, nonce
        self.codec = Codec(Remote, callable)
        self.gone = False

    def ask(self, operation, *args):
        try:
            return self.asked(operation, args)
        except Gone:
            self.gone = True
            raise

    def asked(self, operation, args):
        encoded = [self.codec.encode(item) for item in args]
        if operation == "call" and isinstance(args[2], dict):
            # Names of arguments are text and nothing else.
            encoded[2] = {"dict": [[name, self.codec.encode(item)] for name, item in args[2].items()]}
        self.pipe.send({"do": operation, "args": encoded})
        while True:
            answer = self.pipe.receive()
            if "call" not in answer:
                break
            self.pipe.send(self.called(answer))
        if "error" in answer:
            raise self.error(*answer["error"])
        given = args[1] if operation == "call" else []
        for place, after in answer.get("changed", {}).items():
            if type(given[int(place)]) in MUTABLE:
                refill(given[int(place)], self.codec.decode(after))
        if "same" in answer:
            return given[answer["same"]]
        return self.codec.decode(answer["value"])

    def called(self, request):
        try:
            target = self.codec.own[request["call"]]
            decode = self.codec.decode
            value = target(*map(decode, request["args"]), **{k: decode(v) for k, v in request["named"].items()})
            return {"value": self.codec.encode(value)}
        except Gone:
            raise
        except Exception as error:
            return {"error": described(error)}

    @staticmethod
    def error(name, text):
        kind = getattr(builtins, str(name), None)
        plain = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError)
        error = kind(text) if plain else ProgramError("%s: %s" % (name, text))
        error.of_program = "%s: %s" % (name, text) if text else str(name)
        return error

    def tell(self, **line):
        os.write(self.verdict, json.dumps({"nonce": self.nonce, **line}).encode() + b"\n")


def plan(text, namespace):
    """What runs first, and the tests in a text: each with its name, how it runs, and what of it has to run anyway."""
    tree = ast.parse(text, "tests.py")
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

    def run(nodes):
        code = compile(ast.Module(nodes, []), "tests.py", "exec")
        return lambda: exec(code, namespace)

    def calls(name):
        return any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == name for top in tree.body
                   if isinstance(top, ast.Expr) for node in ast.walk(top))

    if "check" in functions and not calls("check"):
        if "candidate" not in namespace:
            raise ValueError("they define check(candidate), and the row names no entry_point")
        return run(tree.body), [("check", lambda: namespace["check"](namespace["candidate"]))]
    named = [name for name in functions if name.startswith("test")]
    cases = [node.name for node in tree.body if isinstance(node, ast.ClassDef)
             and any(getattr(base, "attr", getattr(base, "id", "")) == "TestCase" for base in node.bases)]
    if cases or named and not any(calls(name) for name in named):
        body = [node for node in tree.body if not calls_main(node)]
        return run(body), functions_of(tree, named, cases, namespace)
    tests, before = [], []
    for node in tree.body:
        before.append(node)
        if isinstance(node, ast.Assert):
            tests.append(("line %d" % node.lineno, run(before), run(before[:-1])))
            before = []
    if before:
        tests.append(("the rest" if tests else "all", run(before)))
    return lambda: None, tests


def calls_main(node):
    """Whether a statement is `if __name__ == ...` or a call of `unittest.main`."""
    if isinstance(node, ast.If):
        return "__name__" in ast.dump(node.test)
    return isinstance(node, ast.Expr) and "attr='main'" in ast.dump(node)


def functions_of(tree, named, cases, namespace):
    def method(case, name):
        def run():
            import unittest
            result = unittest.TestResult()
            namespace[case](name).run(result)
            for _, text in result.failures + result.errors:
                raise AssertionError(text.strip().splitlines()[-1])
        return run

    tests = [(node.name, lambda name=node.name: namespace[name]()) for node in tree.body if getattr(node, "name", "") in named]
    for node in tree.body:
        if getattr(node, "name", "") in cases:
            methods = [part.name for part in node.body if getattr(part, "name", "").startswith("test")]
            tests.extend(("%s.%s" % (node.name, name), method(node.name, name)) for name in methods)
    return tests


def why(error, source=""):
    """One line on how a test failed."""
    if hasattr(error, "of_program"):
        return "the program raised %s" % error.of_program[:MOST_WHY]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "tests.py"]
    line = " in line %d of the tests" % frames[-1].lineno if frames else ""
    text = source.splitlines()[frames[-1].lineno - 1 :] if frames else None
    if text and type(error) is AssertionError and not str(error):
        return ("not true%s: %s" % (line, text[0].strip().removeprefix("assert ")))[:MOST_WHY]
    kind, text = described(error)
    return ("%s%s: %s" % (kind, line, text) if text else kind + line)[:MOST_WHY]


def is_broken(error):
    """Whether it is the tests that cannot run, and not the program that fails them."""
    frames = traceback.extract_tb(error.__traceback__)
    at = next((frame.filename for frame in reversed(frames) if not frame.filename.startswith("<frozen")), "")
    return isinstance(error, ModuleNotFoundError) and not hasattr(error, "of_program") and at == "tests.py"


def known(kind, data):
    """What a program imported, as the judge has it: a module, or a function of one that is written in C."""
    if kind == "module":
        return standard(data["module"])
    module, name = data["import"]
    function = getattr(standard(module), name)
    if type(function) is not types.BuiltinFunctionType:
        raise ImportError(name)
    return function


def namespace_of(judge, names, asked):
    """What the tests find: the names of the program that they may have, none of which hides what they rely on."""
    wanted, entry = asked["names"], asked["entry_point"]
    namespace = {"__name__": "tests"}
    for name, data in names.items():
        kind = next(iter(data)) if isinstance(data, dict) and data else ""
        imported = kind in ("module", "import")
        hides = name in sys.stdlib_module_names or hasattr(builtins, name)
        may = name in wanted or not hides and (imported or not wanted) or data == {"module": name}
        if may and not name.startswith("__"):
            try:
                namespace[name] = known(kind, data) if imported else judge.codec.decode(data)
            except (ImportError, AttributeError):
                pass
    solution = types.ModuleType("solution")
    solution.__dict__.update(namespace)
    sys.modules["solution"] = solution
    if entry:
        first, _, rest = entry.partition(".")
        if rest and first not in namespace:
            # A method that a program has as a function.
            first, rest = rest, ""
        if first not in namespace:
            raise AttributeError("the program does not define `%s`" % first)
        found = namespace[first]
        namespace["candidate"] = getattr(found(), rest) if rest else found
    return namespace


def loaded(judge, asked):
    """The namespace of the tests, once the program is loaded; none where that went wrong, which was told."""
    try:
        answer = judge.pipe.receive()
        if "error" in answer:
            judge.tell(load="the program raised %s: %s" % tuple(answer["error"]))
            return None
        return namespace_of(judge, answer["names"], asked)
    except Gone:
        judge.tell(load="the program ended before it was loaded")
    except Exception as error:
        judge.tell(load=getattr(error, "of_program", str(error))[:MOST_WHY])
    return None


def planned(judge, asked, namespace):
    """The tests, once what comes before them has run; none where that went wrong, which was told."""
    try:
        setup = compile(asked["setup"], "tests.py", "exec")
        if isinstance(asked["tests"], str):
            first, tests = plan(asked["tests"], namespace)
        else:
            codes = [compile(text, "tests.py", "exec") for text in asked["tests"]]
            first = lambda: None
            tests = [("test_%d" % (n + 1), lambda code=code: exec(code, namespace)) for n, code in enumerate(codes)]
    except (SyntaxError, ValueError) as error:
        judge.tell(broken=why(error))
        return None
    try:
        exec(setup, namespace)
        first()
        return tests
    except Gone:
        judge.tell(load="the program ended before the first test")
    except (Exception, SystemExit) as error:
        judge.tell(**{"broken" if is_broken(error) else "load": why(error)})
    return None


def run_judge(limits, program):
    global JUDGE
    asked = json.loads(contents(5))
    judge = JUDGE = Judge(Pipe(3, 4), 6, asked["nonce"])
    confine(limits, program)
    signal.setitimer(signal.ITIMER_REAL, asked["test_seconds"])
    namespace = loaded(judge, asked)
    tests = None if namespace is None else planned(judge, asked, namespace)
    if tests is not None:
        tests = tests[: asked["most"]]
        judge.tell(count=len(tests))
        run_tests(judge, tests, asked)
    return 0


def run_tests(judge, tests, asked):
    for number, (name, run, *before) in enumerate(tests):
        signal.setitimer(signal.ITIMER_REAL, asked["test_seconds"])
        if number < asked["first"]:
            try:
                for run_before in before:
                    run_before()
            except Exception:
                pass
            continue
        line = {"name": name, "passed": False}
        try:
            run()
            line["passed"] = not judge.gone
        except Gone:
            pass
        except BaseException as error:
            texts = asked["tests"]
            text = texts if isinstance(texts, str) else texts[number]
            line["broken" if is_broken(error) else "why"] = why(error, text)
        if "why" in line and not name.startswith(("line ", "test_%d" % (number + 1))):
            line["why"] = "%s: %s" % (name, line["why"])
        if judge.gone:
            line = {"name": name, "passed": False, "why": "the program ended in the middle"}
        judge.tell(**line)
        if judge.gone or asked["stop"] and not line["passed"]:
            return
