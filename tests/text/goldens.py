#!/usr/bin/env python3
"""Makes tests/data/text_goldens.json: what the Python packages tokenizers and transformers make of the texts and
conversations of tests/data/text_cases.json, for the published tokenizers that get_tokenizers.sh fetches. Only digests
are kept.

    python3 -m venv v && v/bin/pip install transformers==5.3.0 jinja2==3.1.6
    tests/text/get_tokenizers.sh target/tokenizers && v/bin/python tests/text/goldens.py target/tokenizers
"""

import hashlib
import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer
from transformers.utils.chat_template_utils import render_jinja_template

DATA = Path(__file__).resolve().parent.parent / "data"
# Texts whose ids share a digest, so that a difference is found within so many.
GROUP = 50

WORDS = {
    "en": "the water runs under a bridge while seven birds watch and nobody answers don't it's we're",
    "de": "der Fluss überquert heute die größte Straße während niemand fragt schön Übermut weiß Käse",
    "fr": "l'été où naît déjà une forêt d'été français cœur garçon aujourd'hui peut-être élève",
    "es": "mañana el niño pequeño corrió rápido ¿quién ¡hola corazón año después también",
    "it": "perché così città più gioventù l'acqua è già qui com'è bella università",
    "pt": "amanhã não há coração português maçã três avó avô pão até lá",
    "nl": "het water stroomt zo'n beetje onder de brug terwijl niemand 's avonds kijkt geïnd",
    "pl": "żółty słoń wąchał gęś źdźbło łódź ćma niech się dzieje",
    "cs": "příliš žluťoučký kůň běží ďábelsky přes řeku dnes večer",
    "hu": "árvíztűrő tükörfúrógép és őszi szél fúj a házak között",
    "tr": "ışık İstanbul'da güneş çığlık öğle şimdi ağaç üzüm",
    "vi": "nước chảy dưới cầu khi bảy con chim nhìn và không ai trả lời được",
    "ru": "вода течёт под мостом пока семь птиц смотрят объём ёлка",
    "uk": "вода тече під мостом їжак єдність ґанок п'ять",
    "el": "το νερό τρέχει κάτω από τη γέφυρα ενώ επτά πουλιά κοιτούν",
    "ar": "الماء يجري تحت الجسر بينما سبعة طيور تنظر ولا أحد يجيب",
    "he": "המים זורמים מתחת לגשר בזמן ששבע ציפורים מביטות",
    "hi": "पुल के नीचे पानी बहता है जबकि सात पक्षी देखते हैं",
    "th": "น้ำไหลใต้สะพานขณะที่นกเจ็ดตัวมองดู",
    "zh": "河水 在 桥下 流过，七只鸟 看着。没有 人 回答！数学 题 三千",
    "ja": "橋の下を 水が 流れ、七羽の鳥が 見ている。カタカナ ひらがな 漢字",
    "ko": "다리 밑으로 물이 흐르고 일곱 마리 새가 지켜본다 아무도",
}
CODE = [
    "fn main() {\n    let x: Vec<u32> = (0..10).map(|i| i * i).collect();\n\tprintln!(\"{x:?}\");\n}\n",
    "def f(a, *b, **c):\n\treturn {k: v for k, v in c.items() if v != a}  # done\n\n\n",
    "SELECT count(*) FROM t WHERE a >= 10 AND b LIKE '%x_%';",
    "for (int i=0;i<n;++i){s+=a[i]<<2;}//sum\r\n",
    "<div class=\"a-b\">&nbsp;&lt;x&gt;</div>\n<!-- c -->",
    "{\"key\": [1, 2.5e-3, null, true], \"é\": \"\\u00e9\\n\"}",
    "grep -rn 'a\\|b' ./src | awk -F: '{print $1}' | sort -u > /tmp/x",
    "if __name__ == '__main__':\n        pass\n            # deep\n",
]
MATHS = [
    "12345678901234567890 + 1 = 12345678901234567891", "3.14159 * 2^10 - 1/3 ≈ 3216.66", "1,000,000.00 €",
    "\\frac{a_1}{b^{2}} \\le \\sum_{i=0}^{n} x_i", "∀x∈ℝ: x² ≥ 0 ∧ √2 ∉ ℚ", "½ ⅓ ① ② Ⅳ ٣٤٥ १२३ 四五六",
    "5−3=2; 7×8=56; 9÷3=3; ±1", "0x1F 0b1010 1e-9 007 1_000",
]
EMOJI = ["🚀🔥", "👩‍👩‍👧‍👦", "🏳️‍🌈", "é́", "ﬁﬂ", "🇩🇪🇯🇵", "a👍🏽b", "☃️", "👨🏿‍🚀 !", "\U0001f9d1\u200d\U0001f4bb"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\u00a0", "\u3000", "\u2009", "\u200b", "\ufeff", "\x0b", "\x85", "\u2028"]
ODD = ["\ufffd", "\ufffd\ufffd", "\x00", "\x1f", "\x7f", "\ue000", "\U0010ffff", "\u0301", "\u202e", "\uffff"]
PUNCTUATION = ["...", "!!!", "?!", "--", "—", "“x”", "'s", "'LL", "’t", "#", "@x", "a.b.c", "(", ")]}", "<|", "|>", "</s>", "<s>", "<|im_end|>", "[INST]", "<think>", "<0x41>", "▁", "Ġ"]


def texts():
    draw = random.Random(17)
    plain = [""] + SPACES + ODD + EMOJI + PUNCTUATION + CODE + MATHS + list(WORDS.values())
    kinds = list(WORDS.values())
    while len(plain) < 3200:
        parts = []
        for _ in range(draw.randint(1, 8)):
            pick = draw.random()
            if pick < 0.55:
                words = draw.choice(kinds).split(" ")
                at = draw.randrange(len(words))
                chosen = words[at:at + draw.randint(1, 9)]
                case = draw.choice([str, str, str.upper, str.title])
                parts.append(case(draw.choice([" ", " ", "  ", "\n"]).join(chosen)))
            elif pick < 0.65:
                code = draw.choice(CODE)
                at = draw.randrange(len(code))
                parts.append(code[at:at + draw.randint(1, 40)])
            elif pick < 0.75:
                parts.append(draw.choice(MATHS + [str(draw.randrange(10 ** draw.randint(1, 15)))]))
            elif pick < 0.82:
                parts.append(draw.choice(EMOJI))
            elif pick < 0.92:
                parts.append(draw.choice(PUNCTUATION))
            else:
                # A text cut within a character, as a reader of bytes that are not UTF-8 sees it.
                broken = draw.choice(kinds + EMOJI).encode()
                at = draw.randrange(len(broken))
                parts.append(broken[at:at + draw.randint(1, 9)].decode(errors="replace"))
                parts.append(draw.choice(ODD))
            parts.append(draw.choice(SPACES + [" "] * 30 + [""] * 10))
        plain.append("".join(parts))
    return plain


def conversations():
    said = lambda role, content, **rest: {"role": role, "content": content, **rest}
    asks = ["What is 2+2?", " spaces around ", "line\n\nbreaks\n", "日本語で答えて", "quotes \"and\" 'these' <b>&amp;</b>",
            "{{ braces }} {% block %}", "", "emoji 🚀", "code:\n```py\nx = 1\n```", "a" * 300]
    systems = [None, "You are terse.", "  padded  ", "Zeile eins\nZeile zwei"]
    tools = [{"type": "function", "function": {
        "name": "get_weather", "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "Its name"}, "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["c", "f"]}}, "required": ["city"]}}}]
    call = {"type": "function", "id": "call12345", "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2}}}
    cases = []

    def case(messages, **rest):
        cases.append({"messages": messages, **rest})

    for place, ask in enumerate(asks):
        system = systems[place % len(systems)]
        start = [said("system", system)] if system is not None else []
        case(start + [said("user", ask)], asks=True)
        case(start + [said("user", ask), said("assistant", "four" + ask)], asks=False)
        case(start + [said("user", ask), said("assistant", " 4 "), said("user", "and " + ask)], asks=True)
    for thinking in [None, True, False]:
        case([said("user", "Think.")], asks=True, thinking=thinking)
        case([said("system", "S"), said("user", "Think.")], asks=True, thinking=thinking)
        case([said("user", "a"), said("assistant", "<think>\nhm\n</think>\n\nb"), said("user", "c")], asks=True, thinking=thinking)
        case([said("user", "a"), said("assistant", "<think>\nhm\n</think>\n\nb")], asks=False, thinking=thinking)
        case([said("user", "a"), said("assistant", "b", reasoning_content="because")], asks=False, thinking=thinking)
        case([said("user", "a"), said("assistant", "x"), said("user", "c"), said("assistant", "<think>y</think>z")], asks=False, thinking=thinking)
    for system in systems[:3]:
        start = [said("system", system)] if system is not None else []
        case(start + [said("user", "Weather?")], asks=True, tools=tools)
        case(start + [said("user", "Weather?"), {"role": "assistant", "content": None, "tool_calls": [call]}], asks=False, tools=tools)
        case(start + [said("user", "Weather?"), {"role": "assistant", "content": "", "tool_calls": [call]},
                      said("tool", "{\"sky\": \"blue\"}", name="get_weather", tool_call_id="call12345")], asks=True, tools=tools)
        case(start + [said("user", "Weather?"), {"role": "assistant", "content": "", "tool_calls": [call]},
                      said("tool", "blue", name="get_weather", tool_call_id="call12345"), said("assistant", "Blue.")], asks=False, tools=tools)
    case([said("system", "only")], asks=True)
    case([said("assistant", "first"), said("user", "then")], asks=True)
    case([said("user", "a"), said("user", "b")], asks=True)
    case([said("user", "a"), said("system", "late"), said("user", "b")], asks=True)
    return cases


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def rendered(template, case, tokens):
    """The digest of the text, or none where the template refuses the conversation."""
    kwargs = dict(tokens)
    if case.get("thinking") is not None:
        kwargs["enable_thinking"] = kwargs["thinking"] = case["thinking"]
    try:
        out, _ = render_jinja_template(
            conversations=[case["messages"]], tools=case.get("tools"), chat_template=template,
            add_generation_prompt=case["asks"], **kwargs)
    except Exception as error:  # noqa: BLE001 a template may raise whatever it likes
        print("   ", type(error).__name__, str(error)[:90])
        return None
    return sha256(out[0])


def main():
    folder = Path(sys.argv[1])
    cases = {"texts": texts(), "conversations": conversations()}
    (DATA / "text_cases.json").write_text(json.dumps(cases, ensure_ascii=False, separators=(",", ":")) + "\n")
    goldens = {}
    for model in sorted(path for path in folder.iterdir() if (path / "tokenizer.json").is_file()):
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in cases["texts"]]
        groups = [sha256(json.dumps(ids[at:at + GROUP], separators=(",", ":"))) for at in range(0, len(ids), GROUP)]
        decoded = sha256("\x1e".join(tokenizer.decode(one, skip_special_tokens=False) for one in ids))
        config = json.loads((model / "tokenizer_config.json").read_text())
        named = config.get("chat_template")
        named = next((x["template"] for x in named if x["name"] == "default"), None) if isinstance(named, list) else named
        text = lambda token: token["content"] if isinstance(token, dict) else token
        # What is rendered here does not depend on the day.
        named = named and named.replace("strftime_now is defined", "false")
        tokens = {key: text(config[key]) for key in ("bos_token", "eos_token") if config.get(key) is not None}
        print(model.name, len(ids), "texts", "and no template" if named is None else "and a template")
        chats = None if named is None else [rendered(named, case, tokens) for case in cases["conversations"]]
        goldens[model.name] = {"ids": groups, "decoded": decoded, "chats": chats}
    (DATA / "text_goldens.json").write_text(json.dumps(goldens, indent=1) + "\n")


if __name__ == "__main__":
    main()
