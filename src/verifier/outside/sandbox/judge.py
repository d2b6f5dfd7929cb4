"""The judge's side of what crosses: handles of the program's objects, and the questions that are put to it."""

JUDGE = None
# Names that tests may read of an object of the program's. Others that Python itself gives meaning to are none that tests
# read: libraries ask for them to find the memory or the data of an object, and believe the answer.
READABLE = "__name__ __qualname__ __doc__ __dict__ __annotations__".split()
MOST_HELD = 32
INPUT = builtins.input


def attribute(target, name):
    if name.startswith("__") and name.endswith("__") and name not in READABLE or name == "_as_parameter_":
        raise AttributeError(name)
    return JUDGE.ask("getattr", target, name)


class Remote:
    """An object of the program, which the program alone has.

    `_say` is how far the program has the say over it: "makes" for a class that the row or its tests show as one, "made"
    for what the tests made with it. Anything else is never handed a value that it could be compared with, such as an
    expected one. Where only a capital letter speaks for a class it "seems" to be one, and gives what is "like" an object:
    that reckons with plain values, but what came of one ("given") is no number and no truth, as a function in its place
    could be asked.
    """

    __slots__ = ("_number", "_say")

    def __init__(self, number, say=""):
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_say", say)

    @property
    def __class__(self):
        # A class of this side with that name: one that both sides have would be believed by `isinstance`.
        return JUDGE.named(JUDGE.ask("kind", self))

    def __getattr__(self, name):
        return attribute(self, name)

    def __setattr__(self, name, value):
        if name.startswith("__"):
            raise AttributeError(name)
        JUDGE.ask("setattr", self, name, value)

    def __delattr__(self, name):
        JUDGE.ask("delattr", self, name)

    def __call__(self, *args, **named):
        made = JUDGE.ask("call", self, list(args), named)
        say = {"makes": "made", "seems": "like"}.get(say_of(self))
        return Remote(number_of(made), say) if say and type(made) is Remote else made

    def __eq__(self, other):
        if type(other) is Remote or say_of(self) == "made":
            return JUDGE.ask("eq", self, other) is True
        # A list of a class of its own is the list that it holds.
        return type(other) in MUTABLE and JUDGE.ask("heart", self) == other

    def __ne__(self, other):
        return not self == other

    def __bool__(self):
        refuse_given(self)
        return JUDGE.ask("bool", self) is True

    def __contains__(self, value):
        if say_of(self) == "made":
            return JUDGE.ask("contains", self, value) is True
        return any(item == value for item in iter(self))

    def __instancecheck__(self, value):
        return number_of(value) is not None and JUDGE.ask("isinstance", value, self) is True

    def __copy__(self):
        return JUDGE.ask("copy", self)

    def __deepcopy__(self, memo):
        return JUDGE.ask("deepcopy", self)

    def __reduce_ex__(self, protocol):
        raise TypeError("an object of the program cannot be pickled")

    def __mro_entries__(self, bases):
        raise JUDGE.uncrossable("the tests make a class from one of the program's")

    def __enter__(self):
        return JUDGE.ask("enter", self)

    def __exit__(self, kind, error, trace):
        settled = JUDGE.ask("exit", self, error and described(error))
        return settled is True and may_settle(sys._getframe(1), error, trace)


class Twin:
    """A value of a class of the program's own that is plain at heart. It is compared here, and what else it has is asked."""

    def __getattr__(self, name):
        return attribute(self, name)


TWINS = {base.__name__: type("Twin", (Twin, base), {}) for base in HEARTS}


class Raised(Twin):
    """An exception of a class that only the program has; its classes here are made of this one."""

    def __str__(self):
        return self.__dict__.get("text") or Exception.__str__(self)


def of_program(error):
    """What the program raised; none where it was not the program."""
    return getattr(error, "__dict__", {}).get("of_program")


def blamed(error, told):
    error.of_program = told
    return error


def say_of(value):
    return object.__getattribute__(value, "_say") if type(value) is Remote else ""


def number_of(value):
    """The number under which the program has it; none where it is not the program's."""
    kind = type(value)
    if kind is Remote:
        return object.__getattribute__(value, "_number")
    if kind is type:
        return value.__dict__.get("_number") if issubclass(value, Raised) else None
    return value.__dict__.get("_number") if issubclass(kind, Twin) else None


def is_same(one, other):
    """Whether they are one object; of the program's where both stand for one of it."""
    number = number_of(one)
    return one is other or number is not None and number == number_of(other)


def type_of(value, *rest):
    return JUDGE.ask("type", value) if type(value) is Remote and not rest else type(value, *rest)


def is_subclass(one, other):
    """`issubclass`, where classes of the program's are among them."""
    if type(one) is Remote and isinstance(other, tuple):
        return any(is_subclass(one, each) for each in other)
    return JUDGE.ask("issubclass", one, other) is True if type(one) is Remote else issubclass(one, other)


def refuse_given(value):
    """Keeps what was handed a plain value from being the number that says how far off it is."""
    if say_of(value) == "given":
        raise TypeError("what a class gives in arithmetic that the row does not show is no number")


def forwarded(operation):
    return lambda self, *args: JUDGE.ask(operation, self, *args)


def numeric(operation):
    def ask(self, *args):
        refuse_given(self)
        return JUDGE.ask(operation, self, *args)

    return ask


def ordering(operation):
    def ask(self, other):
        if type(other) is not Remote and say_of(self) != "made":
            return NotImplemented
        return JUDGE.ask(operation, self, other)

    return ask


def arithmetic(operation):
    def ask(self, other):
        say, plain = say_of(self), type(other) is not Remote
        if plain and say not in ("made", "like", "given"):
            return NotImplemented
        made = JUDGE.ask(operation, self, other)
        if type(made) is Remote:
            return Remote(number_of(made), "given" if plain and say == "like" else say)
        return made if say == "made" or not plain and say != "given" else NotImplemented

    return ask


Remote.__doc__ = property(lambda self: JUDGE.ask("getattr", self, "__doc__"))
for _name in "getitem setitem delitem len iter next str repr hash reversed format".split():
    setattr(Remote, "__%s__" % _name, forwarded(_name))
for _name in "neg pos invert abs index int float round".split():
    setattr(Remote, "__%s__" % _name, numeric(_name))
for _name in "lt le gt ge".split():
    setattr(Remote, "__%s__" % _name, ordering(_name))
for _name in OPERATIONS:
    if _name.rstrip("_") in "add sub mul truediv floordiv mod pow and or xor matmul lshift rshift".split():
        setattr(Remote, "__%s__" % _name.rstrip("_"), arithmetic(_name))
        if "r" + _name in OPERATIONS:
            setattr(Remote, "__r%s__" % _name.rstrip("_"), arithmetic("r" + _name))


class Judge:
    def __init__(self, pipe, verdict, nonce):
        self.pipe, self.verdict, self.nonce = pipe, verdict, nonce
        self.codec = Codec(self.stand_in, number_of, self.check)
        # What the program put into an object of its own and the tests have in hand: number, value, and as it was.
        self.held = []
        self.classes, self.out = {}, sys.stdout
        # The input of the tests, and the last one that the program was told of.
        self.stdin = self.told_stdin = sys.stdin
        self.gone, self.broken = False, None
        self.checks = self.loops = self.asks = 0
        # What a thread of a test raised, and whether the tests would have run cases themselves.
        self.raised, self.runner = None, False
        self.turn = threading.RLock()

    def uncrossable(self, why):
        """That the tests ask for what cannot be judged, which no `except` of theirs makes good."""
        self.broken = self.broken or why
        return Uncrossable(why)

    def check(self, value):
        if not callable(value):
            raise self.uncrossable("a value of class %s of the tests cannot be given to the program" % type(value).__name__)

    def stand_in(self, kind, of):
        if kind in ("own", "class"):
            return Remote(of)
        if kind == "exception":
            return self.exception(*of)
        if kind == "sub":
            twin = TWINS[of[0]](self.codec.decode(of[1]))
        elif kind == "named":
            key = (of[0], *of[1])
            if key not in self.classes:
                self.classes[key] = type(str(of[0]), (Twin, collections.namedtuple(*of[:2])), {})
            twin = self.classes[key](*self.codec.decode(of[2]))
        else:
            raise Gone
        twin._number = of[-1]
        return twin

    def named(self, name):
        name = name if type(name) is str and name.isidentifier() else "Remote"
        if name not in self.classes:
            self.classes[name] = type(name, (Remote,), {"__slots__": ()})
        return self.classes[name]

    def exception(self, number, name, bases):
        """A class of exceptions of the program's, from those that both sides have."""
        if number not in self.classes:
            made = [self.codec.decode(base) for base in bases]
            sound = made and all(isinstance(base, type) and issubclass(base, Exception) for base in made)
            bases = tuple(made) if sound else (ProgramError,)
            bases = bases if any(issubclass(base, Raised) for base in bases) else (Raised, *bases)
            self.classes[number] = type(str(name), bases, {"_number": number})
        return self.classes[number]

    def checked(self):
        self.checks += 1

    def looped(self):
        self.loops += 1

    def ask(self, operation, *args):
        self.asks += 1
        if builtins.input is not INPUT:
            raise self.uncrossable("the tests replace `input`, which the program does not see")
        try:
            with self.turn:
                return self.asked(operation, args)
        except Gone:
            self.gone = True
            raise

    def asked(self, operation, args):
        held = self.take_held()
        encoded = [self.codec.encode(item) for item in args]
        if operation == "call" and isinstance(args[2], dict):
            # Names of arguments are text and nothing else.
            encoded[2] = {"dict": [[name, self.codec.encode(item)] for name, item in args[2].items()]}
        request = {"do": operation, "args": encoded, "held": held, "listens": sys.stdout is not self.out}
        if sys.stdin is not self.told_stdin:
            request["stdin"], self.told_stdin = self.input(), sys.stdin
        self.pipe.send(request)
        while True:
            answer = self.pipe.receive()
            if "call" not in answer:
                break
            self.pipe.send(self.called(answer))
        if isinstance(answer.get("printed"), str):
            sys.stdout.write(answer["printed"])
        if "error" in answer:
            error = self.error(answer["error"])
            if operation != "next" and isinstance(error, StopIteration):
                # It would end the loop of the tests that it comes up in, as if there was nothing left to check.
                error = blamed(RuntimeError("the program raised StopIteration"), "StopIteration")
            raise error
        given = dict(enumerate(args[1])) | args[2] if operation == "call" else {}
        for place, after in answer.get("changed", []):
            if is_mutable(given.get(place)):
                refill(given[place], self.codec.decode(after))
        if "same" in answer:
            return given[answer["same"]]
        value = self.codec.decode(answer["value"])
        if "held" in answer:
            self.held = self.held[1 - MOST_HELD :] + [(answer["held"], value, answer["value"])]
        return value

    def input(self):
        """What is left in an input that the tests have put in the place of their own; none where it is their own again."""
        if sys.stdin is self.stdin:
            return None
        if not isinstance(sys.stdin, io.TextIOBase):
            raise self.uncrossable("the tests replace `sys.stdin` by what is no text")
        return sys.stdin.read()

    def take_held(self):
        """What the tests did since to containers that they were handed out of the program's objects."""
        changed, kept = [], []
        while self.held:
            number, value, before = self.held.pop(0)
            now = self.codec.encode(value)
            if now != before:
                changed.append([number, now])
            # What only this list has in hand is not changed any more: `value`, and what the count itself takes.
            if sys.getrefcount(value) > 2:
                kept.append((number, value, now))
        self.held = kept
        return changed

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

    def error(self, told):
        name, text = str(told["name"]), str(told["text"])[:MOST_WHY]
        error = None
        try:
            kind, args = self.codec.decode(told["kind"]), self.codec.decode(told.get("args", [text]))
            if isinstance(kind, type) and issubclass(kind, Exception):
                try:
                    error = kind(*args)
                except TypeError:
                    error = kind.__new__(kind, text)
                    error.args = (text,)
            if issubclass(kind, Raised):
                error.text, error._number = text, told.get("object")
        except Gone:
            raise
        except Exception:
            error = None
        error = error or ProgramError("%s: %s" % (name, text))
        return blamed(error, "%s: %s" % (name, text) if text else name)

    def tell(self, **line):
        os.write(self.verdict, json.dumps({"nonce": self.nonce, **line}).encode() + b"\n")


def fill(judge, names, asked, calls, namespace):
    """Gives the tests the names of the program that they may have, none of which hides what they rely on."""
    wanted, entry = asked["names"], asked["entry_point"]
    solution = types.ModuleType("solution")
    for name, data in names.items():
        kind = next(iter(data)) if isinstance(data, dict) and data else ""
        imported = kind in ("module", "import", "type", "failure")
        hides = name in sys.stdlib_module_names and name not in calls or hasattr(builtins, name)
        may = name in wanted or not hides and (imported or not wanted) or data == {"module": name}
        if may and name.isidentifier() and not name.startswith("__"):
            try:
                value = judge.codec.decode(data)
            except Exception:
                continue
            if kind == "class" and name != entry and name not in asked["functions"]:
                if name[:1].isupper():
                    value = Remote(number_of(value), "makes" if name in asked["classes"] else "seems")
            namespace[name] = solution.__dict__[name] = value
    # What tests import or define themselves stays theirs where they import all names of the program; they have them anyway.
    solution.__all__ = [name for name in solution.__dict__ if not name.startswith("_") and name not in asked["bound"]]
    sys.modules["solution"] = solution
    if entry:
        first, _, rest = entry.partition(".")
        if rest and first not in namespace:
            # A method that a program has as a function.
            first, rest = rest, ""
        if first not in namespace:
            raise AttributeError("the program does not define `%s`" % first)
        found = namespace[first]
        namespace["candidate"] = solution.candidate = getattr(found(), rest) if rest else found
        solution.__all__.append("candidate")


def loaded(judge, asked, namespace, calls):
    """Whether the program is loaded and the tests have its names; otherwise it was told why not."""
    try:
        answer = judge.pipe.receive()
        if "error" in answer:
            judge.tell(load=("the program raised %s: %s" % (answer["error"]["name"], answer["error"]["text"]))[:MOST_WHY])
            return False
        fill(judge, answer["names"], asked, calls, namespace)
        return True
    except Gone:
        judge.tell(load="the program ended before it was loaded")
    except Exception as error:
        judge.tell(load=(of_program(error) or str(error))[:MOST_WHY])
    return False
