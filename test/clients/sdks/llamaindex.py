"""LlamaIndex (`llama-index-llms-openai-like`) over chat completions."""

import os

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from smoke import describe_status_error, proxy_url, smoke, token, tool_result

# It would count tokens with a vocabulary that it fetches.
os.environ.setdefault("TIKTOKEN_CACHE_DIR", os.path.dirname(__file__))


def _client(model, headers):
    return OpenAILike(
        model=model,
        api_base=f"{proxy_url}/v1",
        api_key=token,
        default_headers=headers,
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )


def _user(prompt):
    return ChatMessage(role=MessageRole.USER, content=prompt)


def answer(prompt, headers, model):
    return _client(model, headers).chat([_user(prompt)]).message.content


def stream(prompt, headers, model):
    return [chunk.delta for chunk in _client(model, headers).stream_chat([_user(prompt)]) if chunk.delta]


def look_up(topic: str) -> str:
    """Looks a topic up."""
    return tool_result


tool = FunctionTool.from_defaults(fn=look_up, name="lookup")


def _next(client, messages, streaming):
    if not streaming:
        return client.chat_with_tools([tool], chat_history=messages)
    last = None
    for last in client.stream_chat_with_tools([tool], chat_history=messages):
        pass
    return last


def loop(prompt, headers, model, streaming):
    client = _client(model, headers)
    messages = [_user(prompt)]
    reply = _next(client, messages, streaming)
    calls = client.get_tool_calls_from_response(reply, error_on_no_tool_call=False)
    messages.append(reply.message)
    messages += [
        ChatMessage(
            role=MessageRole.TOOL, content=tool_result, additional_kwargs={"tool_call_id": call.tool_id}
        )
        for call in calls
    ]
    last = _next(client, messages, streaming)
    return last.message.content, [call.tool_name for call in calls], None


smoke(answer=answer, stream=stream, loop=loop, describe=describe_status_error)
