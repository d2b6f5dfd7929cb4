"""A program for the verifier `command`: a line of JSON for each case comes in, one for each verdict goes out."""
import json, re, sys

for line in sys.stdin:  # the end of the input is the end of the program
    case = json.loads(line)
    numbers = re.findall(r"-?\d+", case["completion"])
    if case["answer"] is None:
        verdict = {"error": "the row has no answer"}
    elif not numbers:
        verdict = {"unparsable": "there is no number"}
    else:
        verdict = {"reward": float(numbers[-1] == case["answer"]), "answer": numbers[-1]}
    print(json.dumps({"id": case["id"], **verdict}), flush=True)
