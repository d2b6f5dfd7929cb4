"""What crosses between the tests of a program and the program, and the process that runs the program.

The judge (judge.py) runs the tests; every name of the program that they use stands for a call through a pipe to the
solver, which runs the program. What comes back is rebuilt from plain data, so that a result which claims to equal
everything, a patched `assert`, a hook on exit or a search through the memory has nothing to work on: expected values and the
verdict are in the judge alone. An object of the program's own classes stays with the solver and is reached through a handle;
it equals no plain value, whatever it says. What of the tests cannot cross is told as that, and is no failure of the program.
"""

import array
import builtins
import collections
import copy
import datetime
import decimal
import fractions
import importlib
import io
import json
import operator
import os
import re
import struct
import sys
import types

MOST_MESSAGE = 16 << 20
MOST_WHY = 300
# A longer table of the program is nothing that tests ask for.
MOST_GLOBAL = 1 << 16


class Gone(BaseException):
    """The other side has ended; no test may take it for an error of its own."""


class ProgramError(Exception):
    """An exception of a class that only the program has."""


class Uncrossable(Exception):
    """A value of the tests that the program cannot be given."""


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


# ---- values ----

# Functions written in C that either side has as its own: what they give depends on what they are given, and on nothing else.
PURE = {
    "builtins": """abs all any ascii bin callable chr divmod format hash hex isinstance issubclass iter len max min next oct ord
    pow repr round sorted sum""".split(),
}
# Modules whose exceptions programs raise and tests expect.
FAILING = "binascii copy csv dataclasses decimal json.decoder queue re statistics struct zlib".split()
PURE_MODULES = "math cmath _operator _functools _bisect _heapq _statistics _struct binascii unicodedata zlib".split()

EXCEPTIONS = {
    name: kind for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError)
}
TYPES = {kind.__name__: kind for kind in (
    bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, object, type(None),
    fractions.Fraction, decimal.Decimal, collections.deque, collections.OrderedDict, collections.Counter,
    collections.defaultdict, datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
)}
TYPES.update(EXCEPTIONS)

# Values by what they are made of again.
MADE_OF = {
    complex: lambda value: (value.real, value.imag),
    range: lambda value: (value.start, value.stop, value.step),
    slice: lambda value: (value.start, value.stop, value.step),
    fractions.Fraction: lambda value: (value.numerator, value.denominator),
    decimal.Decimal: lambda value: (str(value),),
    array.array: lambda value: (value.typecode, value.tolist()),
    datetime.date: lambda value: (value.year, value.month, value.day),
    datetime.time: lambda value: (value.hour, value.minute, value.second, value.microsecond, value.tzinfo),
    datetime.datetime: lambda value: (
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo),
    datetime.timedelta: lambda value: (value.days, value.seconds, value.microseconds),
    datetime.timezone: lambda value: (value.utcoffset(None),),
}
MAKERS = {kind.__name__: kind for kind in MADE_OF}
VIEWS = {
    type({}.keys()): ("keys", lambda items: dict.fromkeys(items).keys()),
    type({}.values()): ("values", lambda items: dict(enumerate(items)).values()),
    type({}.items()): ("items", lambda items: dict(items).items()),
}
VIEWED = dict(VIEWS.values())
# What values of classes of the program's own are at heart, and how that is taken out of them.
HEARTS = {
    str: str.__str__, int: int.__int__, float: float.__float__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)), tuple: lambda value: tuple.__getitem__(value, slice(None)),
}
MUTABLE = (list, dict, set, bytearray, collections.deque, collections.OrderedDict, collections.Counter,
           collections.defaultdict, array.array)
NUMBERS = re.compile(r"[<>|=]?[biufc]\d*")


def is_array(value):
    return type(value).__name__ == "ndarray" and type(value).__module__ == "numpy"


def is_mutable(value):
    return type(value) in MUTABLE or is_array(value)


def refill(old, new):
    """Gives a container what another one holds."""
    if isinstance(old, (list, bytearray, array.array)):
        old[:] = new
    elif is_array(old):
        old[...] = new
    elif isinstance(old, collections.deque):
        old.clear()
        old.extend(new)
    else:
        old.clear()
        old.update(new)


def is_pure(module, name):
    return name in PURE.get(module, ()) or module in PURE_MODULES and not name.startswith("_")


def is_standard(module):
    root = module.partition(".")[0]
    return (root in sys.stdlib_module_names or root == "numpy") and "__" not in module


def known(kind, of):
    """What was imported over there, as this side has it: what the program did to its own copy does not count."""
    if kind == "module":
        if not is_standard(of):
            raise ImportError(of)
        return importlib.import_module(of)
    module, name = of
    if not is_pure(module, name):
        raise ImportError(name)
    function = getattr(builtins if module == "builtins" else importlib.import_module(module), name)
    if type(function) is not types.BuiltinFunctionType:
        raise ImportError(name)
    return function


def failing(module, name):
    kind = getattr(importlib.import_module(module), name) if module in FAILING else None
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        raise ImportError(name)
    return kind


class Codec:
    """Values as JSON. `own` keeps what cannot leave this side; `theirs` makes what stands for the other side's.

    `number_of` knows what came from there, and `check` refuses what cannot be kept; without it everything can.
    """

    def __init__(self, theirs, number_of=lambda value: None, check=None):
        self.own, self.numbers, self.theirs, self.number_of, self.check = [], {}, theirs, number_of, check

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
        if kind is dict:
            return {"dict": self.items(value)}
        if kind in (tuple, set, frozenset, collections.deque):
            return {kind.__name__: [self.encode(item) for item in value]}
        if kind in (bytes, bytearray):
            return {kind.__name__: value.hex()}
        if kind in (collections.OrderedDict, collections.Counter, collections.defaultdict):
            return {kind.__name__: self.items(value)}
        if kind in MADE_OF and not (hasattr(value, "tzinfo") and type(value.tzinfo) not in (type(None), datetime.timezone)):
            return {kind.__name__: [self.encode(part) for part in MADE_OF[kind](value)]}
        number = self.number_of(value)
        return self.encode_rest(value, kind) if number is None else {"theirs": number}

    def encode_rest(self, value, kind):
        if kind in VIEWS:
            return {VIEWS[kind][0]: [self.encode(item) for item in value]}
        if kind is types.ModuleType and is_standard(value.__name__) and value.__name__ in sys.modules:
            return {"module": value.__name__}
        if kind is types.BuiltinFunctionType and is_pure(value.__module__, value.__name__):
            return {"import": [value.__module__, value.__name__]}
        if kind.__module__ == "numpy" and hasattr(value, "tolist"):
            if is_array(value):
                return {"ndarray": [str(value.dtype), self.encode(value.tolist())]}
            return self.encode(value.tolist())
        if issubclass(kind, type):
            return self.encode_class(value)
        heart = next((base for base in HEARTS if issubclass(kind, base)), None)
        if heart is None:
            return {"own": self.keep(value)}
        plain = self.encode(HEARTS[heart](value))
        number = None if self.check else self.keep(value)
        if heart is tuple and isinstance(getattr(kind, "_fields", None), tuple):
            return {"named": [kind.__name__, list(kind._fields), plain, number]}
        return {"sub": [heart.__name__, plain, number]}

    def encode_class(self, value):
        if TYPES.get(value.__name__) is value:
            return {"type": value.__name__}
        if not issubclass(value, Exception):
            return {"class": self.keep(value)}
        if value.__module__ in FAILING and getattr(sys.modules.get(value.__module__), value.__name__, None) is value:
            return {"failure": [value.__module__, value.__name__]}
        bases = [self.encode(base) for base in value.__bases__ if issubclass(base, Exception)]
        return {"exception": [self.keep(value), value.__name__, bases]}

    def items(self, value):
        return [[self.encode(key), self.encode(item)] for key, item in value.items()]

    def keep(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            if self.check:
                self.check(value)
            number = self.numbers[id(value)] = len(self.own)
            self.own.append(value)
        return number

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
        if kind == "int":
            return int(of, 16)
        if kind == "float":
            return float(of)
        if kind == "deque":
            return collections.deque(self.decode(item) for item in of)
        return self.decode_rest(kind, of)

    def decode_rest(self, kind, of):
        if kind in MAKERS:
            return MAKERS[kind](*(self.decode(part) for part in of))
        if kind in VIEWED:
            return VIEWED[kind](self.decode(of))
        if kind in ("module", "import"):
            return known(kind, of)
        if kind == "type":
            return TYPES[of]
        if kind == "failure":
            return failing(*of)
        if kind == "ndarray":
            numpy = importlib.import_module("numpy")
            return numpy.array(self.decode(of[1]), dtype=of[0] if NUMBERS.fullmatch(numpy.dtype(of[0]).str) else None)
        if kind == "theirs":
            return self.own[of]
        return self.theirs(kind, of)


def described(error):
    """The class and the text of an exception, whatever its class does when it is asked."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    return {"name": type(error).__name__, "text": text[:MOST_WHY]}


# ---- the solver ----


def heart_of(value):
    """What a container of a class of the program's own holds, as a plain one."""
    for base in (list, set, frozenset, bytearray, collections.deque):
        if isinstance(value, base):
            return base(base.__iter__(value))
    return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)} if isinstance(value, dict) else None


def leave(target, error):
    """Ends a block of `with`; whether the program takes the exception for settled."""
    error = error and EXCEPTIONS.get(error["name"], ProgramError)(error["text"])
    return bool(type(target).__exit__(target, type(error) if error else None, error, None))


OPERATIONS = {
    name: getattr(operator, name)
    for name in """getitem setitem delitem lt le gt ge eq ne add sub mul truediv floordiv mod pow neg pos and_ or_ xor matmul
    lshift rshift invert abs index contains""".split()
}
OPERATIONS.update({
    "r" + name: lambda a, b, of=OPERATIONS[name]: of(b, a)
    for name in "add sub mul truediv floordiv mod pow and_ or_ xor matmul lshift rshift".split()
})
OPERATIONS.update(
    len=len, iter=iter, next=next, str=str, repr=repr, bool=bool, hash=hash, int=int, float=float, getattr=getattr,
    setattr=setattr, delattr=delattr, call=lambda target, args, named: target(*args, **named), isinstance=isinstance,
    issubclass=issubclass, type=type,
    reversed=reversed, round=round, format=format, kind=lambda target: type(target).__name__,
    heart=heart_of, copy=copy.copy, deepcopy=copy.deepcopy,
    enter=lambda target: type(target).__enter__(target), exit=leave,
)


class Solver:
    def __init__(self, pipe):
        self.pipe, self.stdin = pipe, None
        self.codec = Codec(self.stand_in)

    def stand_in(self, kind, of):
        """What stands here for something of the judge's: a function that calls it, or a plain value."""
        if kind == "sub":
            return self.codec.decode(of[1])
        if kind == "named":
            return collections.namedtuple(of[0], of[1])(*self.codec.decode(of[2]))
        number = of[0] if isinstance(of, list) else of
        return lambda *args, **named: self.call_back(number, args, named)

    def call_back(self, number, args, named):
        encode = self.codec.encode
        self.pipe.send({"call": number, "args": [encode(item) for item in args], "named": {k: encode(v) for k, v in named.items()}})
        answer = self.serve()
        if "error" in answer:
            raise EXCEPTIONS.get(answer["error"]["name"], ProgramError)(answer["error"]["text"])
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

    def failed(self, error):
        """An exception as the judge makes it again: its class with those that it comes from, and what it was made with."""
        answer = described(error)
        try:
            answer["kind"], answer["object"] = self.codec.encode(type(error)), self.codec.keep(error)
            answer["args"] = self.codec.encode(list(error.args))
        except Exception:
            pass
        return {"error": answer}

    def serve(self):
        """Does what the judge asks until it answers a call of this side."""
        while True:
            request = self.pipe.receive()
            if "do" not in request:
                return request
            if "stdin" in request:
                text = request["stdin"]
                sys.stdin = self.stdin if text is None else io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
            out, sys.stdout = sys.stdout, io.StringIO() if request.get("listens") else sys.stdout
            try:
                answer = self.done(request)
            except Gone:
                raise
            except BaseException as error:
                answer = self.failed(error)
            if request.get("listens"):
                try:
                    answer["printed"] = str(sys.stdout.getvalue())
                except Exception:
                    pass
                sys.stdout = out
            self.pipe.send(answer)

    def done(self, request):
        encode, decode = self.codec.encode, self.codec.decode
        for number, held in request.get("held", []):
            refill(self.codec.own[number], decode(held))
        args = [decode(item) for item in request["args"]]
        given = [*enumerate(args[1]), *args[2].items()] if request["do"] == "call" else []
        before = {place: encode(item) for place, item in given if is_mutable(item)}
        value = OPERATIONS[request["do"]](*args)
        answer = {"value": encode(value)}
        for place, item in given:
            if place in before:
                after = encode(item)
                if item is value:
                    answer["same"] = place
                if after != before[place]:
                    answer.setdefault("changed", []).append([place, after])
        if request["do"] in ("getattr", "getitem") and is_mutable(value):
            # What the tests do to it is done here before the next call.
            answer["held"] = self.codec.keep(value)
        return answer


def run_solver(limits, program):
    text = contents(5)
    solver = Solver(Pipe(3, 4))
    solver.stdin = sys.stdin = open(0)
    sys.stdout = open(1, "w")
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
