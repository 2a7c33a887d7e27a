"""OpenAI's Python client, chat completions."""

from openai import OpenAI
from smoke import describe_status_error, lookup, proxy_url, smoke, token, tool_result

client = OpenAI(base_url=f"{proxy_url}/v1", api_key=token, max_retries=0)
tools = [{"type": "function", "function": lookup}]


def answer(prompt, headers, model):
    reply = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": prompt}], extra_headers=headers
    )
    return reply.choices[0].message.content


def stream(prompt, headers, model):
    chunks = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": prompt}], extra_headers=headers, stream=True
    )
    deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    return [piece for piece in deltas if piece]


def _next(messages, headers, model, streaming, runs):
    asked = {"model": model, "messages": messages, "tools": tools, "extra_headers": headers}
    if not streaming:
        raw = client.chat.completions.with_raw_response.create(**asked)
        runs.append(raw.headers.get("x-fermata-run-id"))
        return raw.parse().choices[0].message
    with client.chat.completions.stream(**asked) as events:
        runs.append(events._response.headers.get("x-fermata-run-id"))
        return events.get_final_completion().choices[0].message


def loop(prompt, headers, model, streaming):
    runs = []
    messages = [{"role": "user", "content": prompt}]
    reply = _next(messages, headers, model, streaming, runs)
    calls = reply.tool_calls or []
    messages.append(reply.model_dump(exclude_none=True, exclude={"parsed"}))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": tool_result} for call in calls]
    last = _next(messages, headers, model, streaming, runs)
    return last.content, [call.function.name for call in calls], runs


smoke(answer=answer, stream=stream, loop=loop, describe=describe_status_error)
