"""LangChain's Python client (`langchain-openai`), chat completions."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from smoke import describe_status_error, lookup, proxy_url, smoke, token, tool_result


def _client(model, headers):
    return ChatOpenAI(
        model=model, base_url=f"{proxy_url}/v1", api_key=token, max_retries=0, default_headers=headers
    )


def answer(prompt, headers, model):
    return _client(model, headers).invoke(prompt).text


def stream(prompt, headers, model):
    return [chunk.text for chunk in _client(model, headers).stream(prompt) if chunk.text]


def _next(client, messages, streaming):
    if not streaming:
        return client.invoke(messages)
    whole = None
    for chunk in client.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


def loop(prompt, headers, model, streaming):
    client = _client(model, headers).bind_tools([{"type": "function", "function": lookup}])
    messages = [HumanMessage(prompt)]
    reply = _next(client, messages, streaming)
    messages.append(reply)
    messages += [ToolMessage(tool_result, tool_call_id=call["id"]) for call in reply.tool_calls]
    last = _next(client, messages, streaming)
    return last.text, [call["name"] for call in reply.tool_calls], None


smoke(answer=answer, stream=stream, loop=loop, describe=describe_status_error)
