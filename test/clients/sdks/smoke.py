"""What every Python framework is asked to do with its model behind the proxy: the same as smoke.mjs.

The program of a framework says how it does each step; what came of it is printed as one line of JSON and
judged elsewhere.
"""

import json
import os
import sys

proxy_url = os.environ["SMOKE_PROXY_URL"]
model = os.environ["SMOKE_MODEL"]
token = os.environ["SMOKE_TOKEN"]
_caller = os.environ["SMOKE_CALLER"]
_limited_caller = os.environ["SMOKE_LIMITED_CALLER"]
_word = os.environ["SMOKE_WORD"]

lookup = {
    "name": "lookup",
    "description": "Looks a topic up.",
    "parameters": {
        "type": "object",
        "properties": {"topic": {"type": "string"}},
        "required": ["topic"],
        "additionalProperties": False,
    },
}
tool_result = f"It is a {_word}."


def _headers(run, who=_caller):
    return {"x-fermata-caller": who, **({} if run is None else {"x-fermata-run-id": run})}


def _directive(**fields):
    return f"[[sim {json.dumps(fields)}]]"


def _failure(describe, action):
    """The error as the framework shows it to its user; None when it did not fail."""
    try:
        action()
        return None
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is what is looked at
        return describe(error)


def smoke(answer, stream, loop, describe):
    """Each step is called with keyword arguments: prompt, headers, model; `loop` with streaming too.

    `answer` returns a text, `stream` the pieces of one, `loop` a tuple of text, names of the tools called
    and the run ids that the responses named (None where the framework hides them).
    """
    loops = []
    for streaming in (False, True):
        for run in (None, f"{_caller}-{'streaming' if streaming else 'whole'}"):
            asked = _directive(calls=["lookup"], answer=f"Looked up: {_word}.")
            text, calls, runs = loop(
                prompt=f"{len(loops)}: what is it? {asked}",
                headers=_headers(run),
                model=model,
                streaming=streaming,
            )
            loops.append({"run": run, "streaming": streaming, "text": text, "calls": calls, "runs": runs})
    prompt = f"Say it. {_directive(calls=[], answer=f'The word is {_word}.')}"
    plain = _headers(None, f"{_caller}-plain")
    text = answer(prompt=prompt, headers=plain, model=model)
    pieces = stream(prompt=f"Stream. {prompt}", headers=plain, model=model)
    failing = _headers(None, f"{_caller}-errors")
    unknown = _failure(describe, lambda: answer(prompt=prompt, headers=failing, model="no-such-model"))
    limited = f"Too much. {_directive(fault='rate-limit')}"
    rate_limit = _failure(describe, lambda: answer(prompt=limited, headers=failing, model=model))
    # The first one may pass, the second one is one too many.
    for _ in range(2):
        own_limit = _failure(
            describe, lambda: answer(prompt=prompt, headers=_headers(None, _limited_caller), model=model)
        )
    told = {
        "text": text,
        "pieces": pieces,
        "loops": loops,
        "unknownModel": unknown,
        "rateLimit": rate_limit,
        "ownRateLimit": own_limit,
    }
    sys.stdout.write(f"{json.dumps(told)}\n")


def describe_status_error(error):
    """Most frameworks raise the OpenAI client's own errors."""
    return {"name": type(error).__name__, "status": getattr(error, "status_code", None), "message": str(error)}
