#!/usr/bin/env python3
"""Reference values of the published baselines and ablations that `policy_gradient`, `grpo`, `p3o`, `bolt` and `vopd` can be set to,
in float64, from the formulas of their papers and with nothing of Anneal. Gradients are central differences of the loss.

    python3 tests/data/baseline_vectors.py > tests/data/baseline_vectors.json
"""

import json
import math
import random
from itertools import combinations

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


def pass_at_k(group, k):
    """The gradient of the largest of k rewards, from all subsets of the others (arXiv 2505.15201), less a baseline in which the
    completion has no part."""
    found = []
    for i, own in enumerate(group):
        others = group[:i] + group[i + 1 :]
        gains = [max(own, *subset, 0.0) - max(*subset, 0.0, 0.0) for subset in combinations(others, k - 1)]
        ranked = [sorted(subset, reverse=True) + [0.0] for subset in combinations(others, k)]
        found.append(k * mean(gains) - (mean([top[0] - top[1] for top in ranked]) if ranked else 0.0))
    return found


def log_mean_exp(group, tau):
    """The gradient of log mean exp(tau r) by the completions' log-probabilities, divided by tau."""
    center = mean([math.exp(tau * r) for r in group])
    return [(math.exp(tau * r) / center - 1.0) / tau for r in group]


def power(group, alpha):
    return [(1.0 - mean(group)) ** (alpha - 1.0) * (r - mean(group)) for r in group]


def asym(group, delta):
    return [(r - mean(group)) / (delta if r < mean(group) else 1.0) for r in group]


def focal(group, alpha, delta):
    """FADE's weights at one moment of its schedule (arXiv 2607.01490)."""
    return [(1.0 - mean(group)) ** (alpha - 1.0) * a for a in asym(group, delta)]


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
    if isinstance(kind, dict):
        (name, settings), = kind.items()
        of_group = {"pass_at_k": pass_at_k, "log_mean_exp": log_mean_exp, "power": power, "asym": asym, "focal": focal}[name]
        groups = [step.rewards[first : first + SIZE] for first in range(0, COMPLETIONS, SIZE)]
        return [a for group in groups for a in of_group(group, **settings)]
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


def k3(difference):
    return difference + math.exp(max(-10.0, min(10.0, -difference))) - 1.0


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
                term += spec.get("kl_coef", 0.0) * k3(l - step.reference[i][t])
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
                rho = math.exp(difference)
                importance = spec.get("kl_estimator") == "importance"
                penalty = rho * difference - rho + 1.0 if importance else k3(difference)
                total += spec.get("behavior_coef", 1.0) * (1 - ess) * penalty - min(ratios[at], ess) * credit[i] * l
                total += spec.get("kl_coef", 0.0) * k3(l - step.reference[i][t])
                total -= spec.get("entropy_coef", 0.0) * entropies[i][t]
                at += 1
        return total / at

    return loss


def bolt_weights(spec, step):
    """What the paper (arXiv 2605.02469) compares its weights with."""
    beta, kind = spec["beta"], spec["weights"]
    raw = [math.exp(r / beta) for r in step.rewards]
    if kind == "group":
        return [w / mean([math.exp(r / beta) for r in step.group(i)]) for i, w in enumerate(raw)]
    if kind == "step":
        return [w / mean(raw) for w in raw]
    if kind == "raw":
        return raw
    if kind == "advantage":
        return [math.exp((r - mean(step.group(i))) / beta) for i, r in enumerate(step.rewards)]
    return [1.0 if r >= kind["threshold"] else 0.0 for r in step.rewards]


def bolt_loss(spec, step, credit, _):
    """Weighted imitation."""

    def loss(logits):
        policy, _ = step.policy(logits)
        total = -sum(w * sum(own) for w, own in zip(credit, policy))
        return total / (sum(map(len, policy)) if spec.get("normalization") == "token" else COMPLETIONS)

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
    # P3O with an unbiased penalty, and held near the start (2605.12380)
    ("p3o", {"kl_estimator": "importance"}),
    ("p3o", {"kl_coef": 0.1}),
    # Pass@k and the largest of k (2505.15201), of which two of the groups have graded rewards or none that differ
    ("policy_gradient", {"advantage": {"pass_at_k": {"k": 2}}}),
    ("policy_gradient", {"advantage": {"pass_at_k": {"k": 3}}, "correction": "clip"}),
    # FADE's table of fixed weights (2607.01490)
    ("policy_gradient", {"advantage": {"log_mean_exp": {"tau": 2.0}}}),
    ("policy_gradient", {"advantage": {"power": {"alpha": 2.5}}}),
    ("policy_gradient", {"advantage": {"asym": {"delta": 0.4}}}),
    ("policy_gradient", {"advantage": {"focal": {"alpha": 2.0, "delta": 0.5}}, "correction": "clip"}),
    # BOLT's ablation of its weights (2605.02469)
    ("bolt", {"beta": 0.4, "weights": "group"}),
    ("bolt", {"beta": 0.4, "weights": "step"}),
    ("bolt", {"beta": 0.4, "weights": "raw", "normalization": "token"}),
    ("bolt", {"beta": 0.4, "weights": "advantage"}),
    ("bolt", {"beta": 0.4, "weights": {"threshold": 0.5}}),
]


def case(number, objective, spec):
    step = Step(number, 0.25)
    updates = 1 if objective == "vopd" else 2
    if objective == "p3o":
        credit, build = p3o_credit(step), p3o_loss
    elif objective == "bolt":
        credit, build = bolt_weights(spec, step), bolt_loss
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
