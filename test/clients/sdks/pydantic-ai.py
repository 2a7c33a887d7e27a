"""PydanticAI over chat completions. Its loop calls the tools itself."""

import asyncio

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from smoke import describe_status_error, proxy_url, smoke, token, tool_result


def _agent(model, headers):
    client = AsyncOpenAI(base_url=f"{proxy_url}/v1", api_key=token, max_retries=0)
    chat = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
    return Agent(chat, model_settings={"extra_headers": headers})


async def _answer(agent, prompt):
    return (await agent.run(prompt)).output


async def _stream(agent, prompt):
    async with agent.run_stream(prompt) as result:
        return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]


def answer(prompt, headers, model):
    return asyncio.run(_answer(_agent(model, headers), prompt))


def stream(prompt, headers, model):
    return [piece for piece in asyncio.run(_stream(_agent(model, headers), prompt)) if piece]


def loop(prompt, headers, model, streaming):
    calls = []
    agent = _agent(model, headers)

    @agent.tool_plain
    def lookup(topic: str) -> str:
        """Looks a topic up."""
        calls.append("lookup")
        return tool_result

    if streaming:
        text = "".join(asyncio.run(_stream(agent, prompt)))
    else:
        text = asyncio.run(_answer(agent, prompt))
    return text, calls, None


smoke(answer=answer, stream=stream, loop=loop, describe=describe_status_error)
