"""OpenAI's Agents SDK for Python over chat completions. Its loop calls the tools itself."""

import asyncio

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from smoke import describe_status_error, proxy_url, smoke, token, tool_result

# Traces would go to OpenAI.
set_tracing_disabled(True)
calls = []


@function_tool
def lookup(topic: str) -> str:
    """Looks a topic up."""
    calls.append("lookup")
    return tool_result


def _agent(model, headers, tools=()):
    client = AsyncOpenAI(base_url=f"{proxy_url}/v1", api_key=token, max_retries=0)
    return Agent(
        name="smoke",
        model=OpenAIChatCompletionsModel(model=model, openai_client=client),
        model_settings=ModelSettings(extra_headers=headers),
        tools=list(tools),
    )


def answer(prompt, headers, model):
    return asyncio.run(Runner.run(_agent(model, headers), prompt)).final_output


async def _streamed(agent, prompt):
    result = Runner.run_streamed(agent, prompt)
    pieces = []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            pieces.append(event.data.delta)
    return result.final_output, pieces


def stream(prompt, headers, model):
    return [piece for piece in asyncio.run(_streamed(_agent(model, headers), prompt))[1] if piece]


def loop(prompt, headers, model, streaming):
    calls.clear()
    agent = _agent(model, headers, [lookup])
    if streaming:
        text, _ = asyncio.run(_streamed(agent, prompt))
    else:
        text = asyncio.run(Runner.run(agent, prompt)).final_output
    return text, list(calls), None


smoke(answer=answer, stream=stream, loop=loop, describe=describe_status_error)
