"""What tests are, and how they are run.

A text of tests runs as a script does. Each `assert` of its own ends a test, and what the script defines are tests as well:
`check(candidate)`, functions and classes whose names begin as tests do, and cases of `unittest`, by its own loader. Every
text of a list is one test. What passes without having asked anything has tested nothing: that, and tests that skip or only
make a coroutine, are told as broken and never as passed.
"""

import __future__

import ast
import errno
import functools
import inspect
import signal
import traceback
import unittest

NAME = "tests.py"
MARK, LOOP, SAME = " checked", " looped", " same"
ASKED = {"type": type_of, "issubclass": is_subclass}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# By file: its lines, and the numbers of those that import, that begin a quiet block, and that raise.
SOURCES = {}
# Names of the tests' own functions and classes that check something.
CHECKING = set()
# What results have that are no objects of a class of the program's; arrays among them.
PLAIN_ATTRIBUTES = {name for kind in TYPES.values() for name in dir(kind)} | set("all any dtype item shape size tolist".split())


class Broken(Exception):
    """Tests that test nothing, or that cannot run; in reach of those that are made out of rows."""


class Enough(Exception):
    """No further test runs."""


# ---- reading ----


class Marks(ast.NodeTransformer):
    """Puts a mark before each statement that checks something, and before each loop that may.

    `is` asks for the object of the program behind two handles, of which there may be several for one, and `type` and
    `issubclass` ask for its classes.
    """

    def visit(self, node):
        checks = isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS) and any(map(is_check, within(node)))
        self.generic_visit(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            same = ast.Call(ast.Name(SAME, ast.Load()), [node.left, *node.comparators], [])
            same = same if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), same)
            return ast.fix_missing_locations(ast.copy_location(same, node))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ASKED and not node.keywords:
            node.func = ast.copy_location(ast.Name(" " + node.func.id, ast.Load()), node.func)
        if not checks:
            return node
        name = LOOP if isinstance(node, (ast.For, ast.While)) else MARK
        call = ast.Expr(ast.Call(ast.Name(name, ast.Load()), [], []))
        return [ast.fix_missing_locations(ast.copy_location(call, node)), node]


def within(node):
    """A statement and all that runs with it, without what it only defines."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(part for part in ast.iter_child_nodes(node) if not isinstance(part, DEFINITIONS))


def is_check(node):
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", "")).lstrip("_").lower()
        return name.startswith(("assert", "fail", "raises", "exit", "quit"))
    return isinstance(node, (ast.Assert, ast.Raise))


def quiet_blocks(tree):
    """The lines of `with` statements whose blocks check nothing, and those where the tests raise something."""
    nodes = list(ast.walk(tree))
    asserts = {node for node in nodes if is_check(node) and not isinstance(node, ast.Raise)}
    definitions = [node for node in nodes if isinstance(node, DEFINITIONS[:3])]
    CHECKING.update(node.name for node in definitions if not asserts.isdisjoint(ast.walk(node)))
    quiet, loud, raising = set(), set(), set()
    for node in nodes:
        if isinstance(node, ast.With):
            parts = [part for statement in node.body for part in ast.walk(statement)]
            called = {getattr(part, "attr", getattr(part, "id", "")) for part in parts}
            lines = range(node.lineno, node.items[-1].context_expr.end_lineno + 1)
            (quiet if called.isdisjoint(CHECKING) and asserts.isdisjoint(parts) else loud).update(lines)
        elif isinstance(node, ast.Raise):
            raising.update(range(node.lineno, node.end_lineno + 1))
    return quiet - loud, raising


def may_settle(frame, error, trace):
    """Whether an exception in a block of `with` is the program's to settle: none that keeps a check from being made is."""
    if error is None or frame.f_code.co_filename not in SOURCES:
        return False
    quiet = SOURCES[frame.f_code.co_filename][2]
    while trace.tb_next:
        trace = trace.tb_next
    raised = trace.tb_frame.f_code.co_filename in SOURCES and not isinstance(error, AssertionError)
    explicit = raised and trace.tb_lineno in SOURCES[trace.tb_frame.f_code.co_filename][3]
    return frame.f_lineno in quiet and (explicit or of_program(error) is not None)


def directly_called(tree):
    """The names that the script itself calls."""
    top = [node for node in tree.body if not isinstance(node, DEFINITIONS)]
    calls = [node for statement in top for node in within(statement) if isinstance(node, ast.Call)]
    return {node.func.id for node in calls if isinstance(node.func, ast.Name)}


def used_as_classes(tree):
    """Names that the tests use as only classes are used: for what they made, they ask for what no plain value has."""
    nodes, makers, found = list(ast.walk(tree)), {}, set()
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            makers.update((target.id, node.value.func.id) for target in node.targets if isinstance(target, ast.Name))
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr not in PLAIN_ATTRIBUTES:
            value = node.value
            if isinstance(value, ast.Name):
                found |= {value.id, makers.get(value.id)}
            sides = [value.left, value.right] if isinstance(value, ast.BinOp) else [value]
            found |= {side.func.id for side in sides if isinstance(side, ast.Call) and isinstance(side.func, ast.Name)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            found |= {part.id for argument in node.args[1:] for part in ast.walk(argument) if isinstance(part, ast.Name)}
    return found


def bound_names(nodes):
    """The names that tests give a meaning of their own."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, DEFINITIONS[:3]):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "solution":
            yield from ((part.asname or part.name).partition(".")[0] for part in node.names)


class Script:
    """A text of tests: its statements, and what of it checks something on its own."""

    def __init__(self, text, name, namespace):
        self.tree, self.name, self.namespace = ast.parse(text, name), name, namespace
        imports = [node for node in ast.walk(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        lines = {line for node in imports for line in range(node.lineno, node.end_lineno + 1)}
        SOURCES[name] = (text.splitlines(), lines, *quiet_blocks(self.tree))
        self.flags = 0
        for node in imports:
            for part in node.names if getattr(node, "module", "") == "__future__" else []:
                self.flags |= getattr(__future__, part.name).compiler_flag
        nodes = list(ast.walk(self.tree))
        self.called = directly_called(self.tree)
        self.used = {node.id for node in nodes if isinstance(node, ast.Name)}
        # Names that are functions here, and no modules.
        calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        self.calls = calls - {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
        self.classes, self.bound = used_as_classes(self.tree), set(bound_names(nodes))
        self.tree = Marks().visit(self.tree)

    def run(self, nodes):
        code = compile(ast.Module(nodes, []), self.name, "exec", self.flags, True)
        return lambda: exec(code, self.namespace)

    def parts(self):
        """The tests that end with an `assert`, each with its line and without its end, and the rest."""
        tests, before = [], []
        for node in self.tree.body:
            before.append(node)
            if isinstance(node, ast.Assert):
                tests.append(("line %d" % node.lineno, self.run(before), self.run(before[:-1])))
                before = []
        return tests, self.run(before)

    def defined(self, before):
        """The tests among what the script defined since the namespace was as `before`: names, and how each runs."""
        tests, seen = [], set()
        for name, value in list(self.namespace.items()):
            if before.get(name, before) is value or type(value) is Remote or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, type):
                tests.extend(methods_of(name, value) if value.__module__ == "__main__" else [])
            elif callable(value) and getattr(value, "__module__", "__main__") in ("__main__", "functools"):
                tests.extend(self.function(name, value))
        return tests

    def function(self, name, value):
        needed = parameters(value)
        if name in self.called or not (name == "check" or name.startswith("test")):
            return []
        if not needed:
            return [(name, value)]
        if name == "check" or needed == ["candidate"]:
            if "candidate" in self.namespace:
                return [(name, lambda: value(self.namespace["candidate"]))]
        if name in self.used:
            return []
        raise Broken("%s(%s) is given nothing: does the row name an entry_point?" % (name, ", ".join(needed)))


def parameters(function):
    """The names of what a function cannot be called without."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    all_of_them = inspect.signature(function).parameters.values()
    return [one.name for one in all_of_them if one.default is one.empty and one.kind not in kinds]


def methods_of(name, kind):
    """The tests of a class: a case of `unittest`, or one whose name begins with `Test`."""
    if issubclass(kind, unittest.TestCase):
        names = unittest.TestLoader().getTestCaseNames(kind) or (["runTest"] if hasattr(kind, "runTest") else [])
        return [("%s.%s" % (name, method), functools.partial(run_case, kind, method)) for method in names]
    if not name.startswith("Test"):
        return []
    names = [method for method in dir(kind) if method.startswith("test") and callable(getattr(kind, method))]
    if names and kind.__init__ is not object.__init__:
        raise Broken("class %s has tests and an __init__, with which it is not made for each of them" % name)
    return [("%s.%s" % (name, method), functools.partial(run_method, kind, method)) for method in names]


# ---- running ----


def to_its_end(run):
    """Runs a script, which may end itself as one that is content."""
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise


def settled(value):
    """That a test has run, where calling it does that, and did not say that it failed."""
    if type(value) is bool:
        JUDGE.checked()
        if not value:
            raise AssertionError("it returned False")
    if inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise Broken("a test is asynchronous or a generator, so that nothing of it runs: write it as a plain function")


class Outcome(unittest.TestResult):
    """What came of one case, with its exceptions as they are."""

    def __init__(self):
        super().__init__()
        self.raised = []

    def addError(self, test, error):
        self.raised.append(error[1])

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.raised.append(error[1])


def join_threads():
    """Waits for the threads that a test has started; its time is bounded by the alarm."""
    for thread in threading.enumerate() if threading.active_count() > 1 else ():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def of_thread(told):
    """Keeps what a thread of a test raised, which fails the test."""
    error = told.exc_value or told.exc_type()
    if not (isinstance(error, SystemExit) and not error.code):
        JUDGE.raised = JUDGE.raised or error


def assert_is(case, one, other, msg=None, wanted=True):
    if is_same(one, other) is not wanted:
        case.fail(case._formatMessage(msg, "%r is %s%r" % (one, "not " if wanted else "", other)))


def run_none(*args, **named):
    """Stands for runners of cases, which are found and run without them: their failures are not lost in it."""
    JUDGE.runner = True
    return unittest.TestResult()


def run_case(kind, method):
    """One case with what its class and its script prepare for it."""
    # The interpreter's own class of such cases costs what its import costs; whoever derives from it has paid.
    module = sys.modules.get("unittest.async_case")
    if module and issubclass(kind, module.IsolatedAsyncioTestCase):
        raise Broken("IsolatedAsyncioTestCase needs sockets, which there are none of: write its tests as plain functions")
    case, outcome = kind(method), Outcome()
    test = getattr(case, method)
    setattr(case, method, functools.wraps(test)(lambda: settled(test())))
    unittest.TestSuite([case]).run(outcome)
    if outcome.skipped:
        raise Broken("a test is skipped: %s" % outcome.skipped[0][1])
    if outcome.raised:
        raise outcome.raised[0]
    if outcome.unexpectedSuccesses:
        raise AssertionError("it was expected to fail")
    if outcome.testsRun != 1:
        raise Broken("a case did not run")


def run_method(kind, method):
    test = kind()

    def prepare(*names):
        for name in names:
            step = getattr(test, name, None)
            if step is not None:
                step(*[kind if name.endswith("class") else getattr(test, method)][: len(parameters(step))])

    prepare("setup_class", "setup_method", "setup")
    try:
        settled(getattr(test, method)())
    finally:
        prepare("teardown", "teardown_method", "teardown_class")


def frames_of(error):
    """The lines of the tests that led to an exception, the last one last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if frame.filename in SOURCES]


def why(error):
    """One line on how a test failed."""
    if of_program(error) is not None:
        return ("the program raised %s" % of_program(error))[:MOST_WHY]
    if isinstance(error, Broken):
        return str(error)[:MOST_WHY]
    frames = frames_of(error)
    line = " in line %d of the tests" % frames[-1].lineno if frames else ""
    lines = SOURCES[frames[-1].filename][0][frames[-1].lineno - 1 :] if frames else None
    told = described(error)
    if lines and type(error) is AssertionError and not told["text"]:
        return ("not true%s: %s" % (line, lines[0].strip().removeprefix("assert ")))[:MOST_WHY]
    return ("%s%s: %s" % (told["name"], line, told["text"]) if told["text"] else told["name"] + line)[:MOST_WHY]


def is_broken(error):
    """Whether it is the tests that cannot run, and not the program that fails them."""
    # What ends as if all was well has not come to its assertion.
    if isinstance(error, (Broken, unittest.SkipTest)) or isinstance(error, SystemExit) and not error.code:
        return True
    if of_program(error) is not None:
        return False
    if isinstance(error, OSError) and error.errno == errno.ENOSYS:
        # They ask the system for what there is none of, as the loops of asyncio do.
        return True
    if not isinstance(error, ImportError) or error.name == "solution":
        return False
    # An import of the tests' own, whatever the program is: nothing of this file stands between it and the failure.
    frames = traceback.extract_tb(error.__traceback__)
    own = [number for number, frame in enumerate(frames) if frame.filename in SOURCES]
    if not own or any(frame.filename == is_broken.__code__.co_filename for frame in frames[own[-1] :]):
        return False
    return frames[own[-1]].lineno in SOURCES[frames[own[-1]].filename][1]


class Trial:
    """Tests one after another, from the first that an earlier process did not get to."""

    def __init__(self, judge, asked, namespace):
        self.judge, self.asked, self.namespace = judge, asked, namespace
        self.number = 0

    def outcome(self, run):
        """What to tell of a test, without its name."""
        judge, failure = self.judge, None
        judge.checks = judge.loops = judge.asks = 0
        judge.raised = None
        signal.setitimer(signal.ITIMER_REAL, self.asked["test_seconds"])
        try:
            settled(run())
            join_threads()
        except Gone:
            pass
        except BaseException as error:
            failure = error
        failure = failure or judge.raised
        if failure is not None and is_broken(failure):
            judge.broken = judge.broken or why(failure)
        if judge.broken:
            return {"broken": judge.broken}
        if judge.gone:
            return {"passed": False, "why": "the program ended in the middle"}
        return {"passed": False, "why": why(failure)} if failure is not None else {"passed": True}

    def has_checked(self):
        # A loop over what the program gave may be one over nothing.
        return self.judge.checks > 0 or self.judge.loops > 0 and self.judge.asks > 0

    def tell(self, name, line):
        """Tells a result, where it is not one that was told before, and ends with the last that is wanted."""
        self.number += 1
        if name and "why" in line:
            line["why"] = "%s: %s" % (name, line["why"])
        if self.number > self.asked["first"]:
            self.judge.tell(**line)
            if self.asked["stop"] and not line.get("passed"):
                raise Enough
        if "broken" in line or self.judge.gone or self.number >= self.asked["most"]:
            raise Enough

    def test(self, name, run, before=None):
        if self.number >= self.asked["first"]:
            return self.tell(name, self.outcome(run))
        self.number += 1
        try:
            if before:
                before()
        except Exception:
            pass

    def count(self, tests, more=False):
        self.judge.tell(count=min(tests, self.asked["most"]), more=more and tests < self.asked["most"])

    def of_list(self, scripts):
        self.count(len(scripts))
        for script in scripts:
            self.test("", functools.partial(self.whole, script))

    def whole(self, script):
        before = dict(self.namespace)
        to_its_end(script.run(script.tree.body))
        checked, found = self.has_checked(), script.defined(before)
        for name, run in found:
            self.judge.checks = self.judge.loops = 0
            self.found(name, run)
        if not (checked or found):
            raise Broken("a test checks nothing: %s" % " ".join(SOURCES[script.name][0])[:80])

    def found(self, name, run):
        """Runs a test that the script defined, which has to check something."""
        settled(run())
        join_threads()
        if not self.has_checked():
            raise Broken("%s checks nothing: write what it asks for as an assertion" % name)

    def of_text(self, script):
        before, (parts, rest) = dict(self.namespace), script.parts()
        # What else there is shows when the script has run.
        self.count(len(parts), more=True)
        for name, run, without in parts:
            self.test("", run, without)
        line = self.outcome(lambda: to_its_end(rest))
        checked = self.has_checked()
        if self.judge.gone or "broken" in line:
            return self.tell("", line)
        if not line["passed"] and not checked:
            return self.judge.tell(load=line["why"])
        try:
            found = script.defined(before)
        except Exception as error:
            return self.judge.tell(broken=why(error))
        if script.tree.body and not (parts or checked or found):
            return self.judge.tell(broken="they check nothing")
        # What it says of the cases that a runner of its own would have run is said by them.
        checked = checked and not (found and self.judge.runner)
        self.count(len(parts) + checked + len(found))
        if checked:
            self.tell("", line)
        for name, run in found:
            self.test(name, functools.partial(self.found, name, run))


def run_judge(limits, program):
    global JUDGE
    asked = json.loads(contents(5))
    judge = JUDGE = Judge(Pipe(3, 4), 6, asked["nonce"])
    main = types.ModuleType("__main__")
    confine(limits, program)
    signal.setitimer(signal.ITIMER_REAL, asked["test_seconds"])
    unittest.main = unittest.TextTestRunner.run = run_none
    unittest.TestCase.assertIs = assert_is
    unittest.TestCase.assertIsNot = lambda case, a, b, msg=None: assert_is(case, a, b, msg, False)
    threading.excepthook = of_thread
    sys.modules["__main__"], namespace = main, main.__dict__
    try:
        setup = Script(asked["setup"], "setup.py", namespace)
        is_text = isinstance(asked["tests"], str)
        named = [(asked["tests"], NAME)] if is_text else [(text, "test_%d.py" % n) for n, text in enumerate(asked["tests"], 1)]
        scripts = [Script(text, name, namespace) for text, name in named[: asked["most"]]]
    except Exception as error:
        judge.tell(broken=why(error))
        return 0
    calls = set().union(*(script.calls for script in scripts))
    asked["classes"] = set(asked["classes"]).union(setup.classes, *(script.classes for script in scripts))
    asked["bound"] = setup.bound.union(*(script.bound for script in scripts))
    if not loaded(judge, asked, namespace, calls):
        return 0
    trial = Trial(judge, asked, namespace)
    namespace.update({"_Broken": Broken, MARK: judge.checked, LOOP: judge.looped, SAME: is_same})
    namespace.update({" " + name: ask for name, ask in ASKED.items()})
    try:
        setup.run(setup.tree.body)()
    except Gone:
        judge.tell(load="the program ended before the first test")
        return 0
    except (Exception, SystemExit) as error:
        # Before the program was asked for anything it is not to blame, but for names that it does not have.
        own = judge.asks == 0 and not isinstance(error, (NameError, AttributeError, ImportError))
        judge.tell(**{"broken" if own or judge.broken or is_broken(error) else "load": judge.broken or why(error)})
        return 0
    try:
        trial.of_text(scripts[0]) if is_text else trial.of_list(scripts)
    except Enough:
        pass
    return 0
