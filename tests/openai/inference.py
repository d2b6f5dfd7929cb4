"""Chat and text completions through the unmodified OpenAI client: inference.py BASE_URL [MODEL]"""

import sys

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="unused", max_retries=0)
model = sys.argv[2] if len(sys.argv) > 2 else "builtin:arith-tiny"
messages = [{"role": "user", "content": "12+7="}]

chat = client.chat.completions.create(model=model, messages=messages, temperature=0, seed=1, logprobs=True)
text = client.completions.create(model=model, prompt="12+7=", temperature=0, logprobs=0)
assert chat.choices[0].message.content == text.choices[0].text, (chat, text)
assert chat.choices[0].finish_reason == "stop" and chat.usage.total_tokens == text.usage.total_tokens
assert [token.logprob for token in chat.choices[0].logprobs.content] == text.choices[0].logprobs.token_logprobs

drawn = dict(model=model, messages=messages, n=3, seed=5, temperature=1.5, max_tokens=12)
whole = client.chat.completions.create(**drawn)
parts = ["", "", ""]
ends, usage = {}, None
for chunk in client.chat.completions.create(**drawn, stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        parts[choice.index] += choice.delta.content or ""
        ends[choice.index] = choice.finish_reason or ends.get(choice.index)
assert parts == [choice.message.content for choice in whole.choices], parts
assert ends == {choice.index: choice.finish_reason for choice in whole.choices}
assert usage == whole.usage, usage

streamed = "".join(c.choices[0].text for c in client.completions.create(model=model, prompt="12+7=", temperature=0, stream=True))
assert streamed == text.choices[0].text

with client.chat.completions.with_streaming_response.create(**drawn, stream=True) as response:
    assert response.headers["content-type"] == "text/event-stream"

for wrong, kind, code, param in [
    (dict(model="gpt-4o"), openai.NotFoundError, "model_not_found", "model"),
    (dict(tools=[{"type": "function", "function": {"name": "f"}}]), openai.BadRequestError, "unsupported_parameter", "tools"),
    (dict(n=100), openai.BadRequestError, "invalid_request", "n"),
    (dict(extra_body={"grammar": "x"}), openai.BadRequestError, "invalid_request", "grammar"),
]:
    try:
        client.chat.completions.create(**(dict(model=model, messages=messages) | wrong))
        raise SystemExit(f"{wrong} was taken")
    except kind as error:
        assert (error.code, error.param) == (code, param) and error.body["message"], error
print("ok")
