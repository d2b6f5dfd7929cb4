#!/usr/bin/env python3
"""Reference values of the published baselines that `policy_gradient`, `grpo`, `p3o` and `vopd` can be set to, in float64, from the
formulas of their papers and with nothing of Anneal. Gradients are central differences of the loss.

    python3 tests/data/baseline_vectors.py > tests/data/baseline_vectors.json
"""

import json
import math
import random

PROMPTS, SIZE, POSITIONS, VOCABULARY = 3, 3, 4, 5
COMPLETIONS = PROMPTS * SIZE


def log_softmax(row):
    top = max(row)
    total = top + math.log(sum(math.exp(x - top) for x in row))
    return [x - total for x in row]


class Step:
    """Everything about a step but the policy's logits, which losses are functions of."""

    def __init__(self, seed, spread):
        draw = random.Random(seed)
        grid = lambda scale: [
            [[round(draw.gauss(0, scale), 4) for _ in range(VOCABULARY)] for _ in range(POSITIONS)]
            for _ in range(COMPLETIONS)
        ]
        self.logits, self.teacher = grid(1.0), grid(1.0)
        self.tokens = [[draw.randrange(VOCABULARY) for _ in range(POSITIONS)] for _ in range(COMPLETIONS)]
        self.lengths = [draw.randint(1, POSITIONS) for _ in range(COMPLETIONS)]
        # The groups: mixed, with graded rewards, and one in which all succeed.
        self.rewards = [1.0, 0.0, 0.0, 0.25, 1.0, 0.5, 1.0, 1.0, 1.0]
        near = lambda by: [
            [min(log_softmax(row)[token] + draw.gauss(0, by), -1e-3) for row, token in zip(rows, tokens)]
            for rows, tokens in zip(self.logits, self.tokens)
        ]
        self.behavior, self.reference = near(spread), near(0.3)
        # Of the policy that the steps of the phase began with; drawn last, so that all else is as it was.
        self.proximal = near(0.2)

    def group(self, i):
        first = i // SIZE * SIZE
        return self.rewards[first : first + SIZE]

    def policy(self, logits):
        """Per completion the log-probabilities of its tokens, and the entropies at their positions."""
        own, entropies = [], []
        for rows, tokens, length in zip(logits, self.tokens, self.lengths):
            logs = [log_softmax(row) for row in rows[:length]]
            own.append([row[token] for row, token in zip(logs, tokens)])
            entropies.append([-sum(math.exp(x) * x for x in row) for row in logs])
        return own, entropies


def mean(values):
    return sum(values) / len(values)


def std(values):
    center = mean(values)
    return math.sqrt(mean([(x - center) ** 2 for x in values]))


def advantages(kind, step):
    """One per completion."""
    if kind == "rloo":
        others = lambda i: [r for j, r in enumerate(step.group(i)) if j != i % SIZE]
        return [r - mean(others(i)) for i, r in enumerate(step.rewards)]
    if kind == "mean":
        return [r - mean(step.group(i)) for i, r in enumerate(step.rewards)]
    if kind == "group_std":
        scaled = lambda r, group: (r - mean(group)) / (std(group) + 1e-6)
        return [scaled(r, step.group(i)) if std(step.group(i)) > 0 else 0.0 for i, r in enumerate(step.rewards)]
    if kind == "batch_std":
        return [(r - mean(step.rewards)) / (std(step.rewards) + 1e-6) for r in step.rewards]
    if kind == "mean_batch_std":
        centered = advantages("mean", step)
        return [a / (std(centered) + 1e-6) for a in centered]
    raise ValueError(kind)


def log_ratios(kind, step, policy):
    """Per completion and token."""
    of_tokens = [[l - mu for l, mu in zip(own, behavior)] for own, behavior in zip(policy, step.behavior)]
    if kind == "token":
        return of_tokens
    if kind == "sequence":
        return [[max(-20.0, min(20.0, sum(row)))] * len(row) for row in of_tokens]
    if kind == "sequence_mean":
        return [[mean(row)] * len(row) for row in of_tokens]
    raise ValueError(kind)


def loss_of(spec, step, credit, frozen):
    """The loss as a function of logits; what is detached is taken at the logits `frozen`."""
    ratio, correction = spec.get("ratio", "token"), spec.get("correction", "none")
    low, high, cap = spec.get("clip_low", 0.2), spec.get("clip_high", 0.2), spec.get("cap", 2.0)
    aggregation = spec.get("aggregation", "token_mean")
    still = log_ratios(ratio, step, step.policy(frozen)[0])

    def weight(log_ratio):
        rho = math.exp(log_ratio)
        return {
            "none": 1.0,
            "importance": rho,
            "truncated": min(rho, cap),
            "masked": rho if rho <= cap else 0.0,
            "clipped_weights": min(max(rho, 1 - low), 1 + high),
        }[correction]

    def loss(logits):
        policy, entropies = step.policy(logits)
        moving = log_ratios(ratio, step, policy)
        terms = []
        for i, own in enumerate(policy):
            row = []
            for t, l in enumerate(own):
                if correction == "decoupled":
                    # arXiv 2110.00641, eq. 5, with the weight of the proximal policy truncated.
                    weigh = min(math.exp(step.proximal[i][t] - step.behavior[i][t]), cap)
                    rho = math.exp(l - step.proximal[i][t])
                    term = -weigh * min(rho * credit[i], min(max(rho, 1 - low), 1 + high) * credit[i])
                elif correction == "clip":
                    rho = math.exp(moving[i][t])
                    term = -min(rho * credit[i], min(max(rho, 1 - low), 1 + high) * credit[i])
                else:
                    term = -weight(still[i][t]) * credit[i] * l
                difference = l - step.reference[i][t]
                term += spec.get("kl_coef", 0.0) * (difference + math.exp(max(-10.0, min(10.0, -difference))) - 1.0)
                row.append(term - spec.get("entropy_coef", 0.0) * entropies[i][t])
            terms.append(row)
        if aggregation == "token_mean":
            return sum(map(sum, terms)) / sum(map(len, terms))
        if aggregation == "sequence_mean":
            return mean([mean(row) for row in terms])
        return mean([sum(row) / aggregation["constant"] for row in terms])

    return loss


def gradient(loss, logits, by=1e-6):
    flat = []
    for rows in logits:
        for row in rows:
            for at, value in enumerate(row):
                row[at] = value + by
                up = loss(logits)
                row[at] = value - by
                down = loss(logits)
                row[at] = value
                flat.append((up - down) / (2 * by))
    return flat


def p3o_credit(step):
    scaled = lambda r, group: (r - mean(group)) / (std(group) + 1e-8)
    return [scaled(r, step.group(i)) if std(step.group(i)) > 0 else 0.0 for i, r in enumerate(step.rewards)]


def p3o_loss(spec, step, credit, frozen):
    """P3O with an entropy bonus: detached ratios capped by the effective sample size, and its penalty."""
    still = [x for row in log_ratios("token", step, step.policy(frozen)[0]) for x in row]
    ratios = [math.exp(x) for x in still]
    ess = sum(ratios) ** 2 / (len(ratios) * sum(r * r for r in ratios))

    def loss(logits):
        policy, entropies = step.policy(logits)
        total, at = 0.0, 0
        for i, own in enumerate(policy):
            for t, l in enumerate(own):
                difference = l - step.behavior[i][t]
                k3 = difference + math.exp(max(-10.0, min(10.0, -difference))) - 1.0
                total += spec.get("behavior_coef", 1.0) * (1 - ess) * k3 - min(ratios[at], ess) * credit[i] * l
                total -= spec.get("entropy_coef", 0.0) * entropies[i][t]
                at += 1
        return total / at

    return loss


def vopd_loss(spec, step, _, frozen):
    """On-policy distillation with a floor under the log-ratio, and the divergence as the baseline."""
    credit = []
    for rows, others, tokens, length in zip(frozen, step.teacher, step.tokens, step.lengths):
        row_credit = []
        for row, other, token in zip(rows[:length], others, tokens):
            own, teacher = log_softmax(row), log_softmax(other)
            divergence = sum(math.exp(a) * (a - b) for a, b in zip(own, teacher))
            reward = max(teacher[token] - own[token], spec["reward_floor"])
            row_credit.append(reward + (divergence if spec["baseline"] == "full" else 0.0))
        credit.append(row_credit)

    def loss(logits):
        policy, _ = step.policy(logits)
        terms = [-a * l for own, row in zip(policy, credit) for l, a in zip(own, row)]
        return sum(terms) / len(terms)

    return loss


CASES = [
    # RLOO (arXiv 2402.14740), Dr. GRPO (2503.20783), GRPO as published (2402.03300), DAPO (2503.14476)
    ("policy_gradient", {"advantage": "rloo"}),
    ("policy_gradient", {"advantage": "mean", "correction": "clip", "aggregation": {"constant": 16}}),
    ("grpo", {"aggregation": "sequence_mean", "kl_coef": 0.04}),
    ("grpo", {"clip_high": 0.28}),
    ("grpo", {"entropy_coef": 0.01}),
    # REINFORCE++ and with a baseline (2501.03262)
    ("policy_gradient", {"advantage": "batch_std", "correction": "clip"}),
    ("policy_gradient", {"advantage": "mean_batch_std", "correction": "clip", "kl_coef": 0.1}),
    # GSPO (2507.18071), CISPO (2506.13585)
    (
        "policy_gradient",
        {
            "advantage": "group_std",
            "correction": "clip",
            "ratio": "sequence_mean",
            "clip_low": 0.05,
            "clip_high": 0.08,
            "aggregation": "sequence_mean",
        },
    ),
    ("policy_gradient", {"advantage": "group_std", "correction": "clipped_weights", "clip_low": 1.0, "clip_high": 0.2}),
    # Truncated and masked importance sampling, by token and by completion
    ("policy_gradient", {"advantage": "group_std", "correction": "truncated", "cap": 1.2}),
    ("policy_gradient", {"advantage": "group_std", "correction": "truncated", "cap": 1.2, "ratio": "sequence"}),
    ("policy_gradient", {"advantage": "group_std", "correction": "masked", "cap": 1.2}),
    ("policy_gradient", {"advantage": "group_std", "correction": "masked", "cap": 1.2, "ratio": "sequence"}),
    ("policy_gradient", {"advantage": "rloo", "correction": "importance", "ratio": "sequence", "entropy_coef": 0.02}),
    ("p3o", {"entropy_coef": 0.05}),
    ("p3o", {"behavior_coef": 0.25}),
    ("vopd", {"baseline": "full", "reward_floor": -0.4}),
    ("vopd", {"baseline": "none", "reward_floor": -0.4}),
    # Decoupled PPO (2110.00641), also as AReaL weighs it (2505.24298)
    ("policy_gradient", {"advantage": "group_std", "correction": "decoupled", "cap": 1.1, "clip_low": 0.1, "clip_high": 0.15}),
    ("policy_gradient", {"advantage": "mean", "correction": "decoupled", "cap": 5.0, "aggregation": "sequence_mean", "kl_coef": 0.05}),
]


def case(number, objective, spec):
    step = Step(number, 0.25)
    updates = 1 if objective == "vopd" else 2
    if objective == "p3o":
        credit, build = p3o_credit(step), p3o_loss
    elif objective == "vopd":
        credit, build = [0.0] * COMPLETIONS, vopd_loss
    else:
        grpo = {"advantage": "group_std", "correction": "clip"} if objective == "grpo" else {}
        credit, build = advantages({**grpo, **spec}["advantage"], step), loss_of
        spec = {**spec, "_": grpo}
    settings = {**spec.pop("_", {}), **spec}
    frozen = [[list(row) for row in rows] for rows in step.logits]
    loss = build(settings, step, credit, frozen)
    mask = [[float(t < length) for t in range(POSITIONS)] for length in step.lengths]
    return {
        "objective": objective,
        "spec": {"updates_per_rollout": updates, **spec},
        "input": {
            "B": COMPLETIONS,
            "T": POSITIONS,
            "V": VOCABULARY,
            "policy_logits": step.logits,
            "teacher_logits": step.teacher,
            "tokens": step.tokens,
            "mask": mask,
            "rewards": step.rewards,
            "group": [i // SIZE for i in range(COMPLETIONS)],
            "behavior_logprobs": step.behavior,
            "reference_logprobs": step.reference,
            **({"proximal_logprobs": step.proximal} if settings.get("correction") == "decoupled" else {}),
        },
        "expected": {"loss": loss(step.logits), "advantages": credit, "grad_policy_logits": gradient(loss, step.logits)},
    }


cases = [case(number, objective, spec) for number, (objective, spec) in enumerate(CASES)]
print(json.dumps({"comment": "made by baseline_vectors.py, which is beside this file", "cases": cases}, indent=None))
