/**
 * Whether an event or a whole body is an error inside a 200. Pure. Seen: an error object (OpenAI, vLLM,
 * SGLang, llama.cpp, OpenRouter), an error text (TGI, Ollama), `object` or `type` that says so
 * (older vLLM, TensorRT-LLM, Anthropic).
 */
import { isObject, textOf, type Json } from '../foreign-json.ts';

export function isError(event: Json): boolean {
  return hasError(event) || event['object'] === 'error' || event['type'] === 'error';
}

/** `error: null` is what a reply without one has. */
export function hasError(value: Json): boolean {
  return isObject(value['error']) || textOf(value['error']) !== null;
}
