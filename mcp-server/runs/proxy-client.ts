/**
 * What this service asks of the proxy: the models of the pool and one-off decisions. Runs go to the
 * proxy from the worker, never from here.
 */
import { z } from 'zod';
import { AddressOrder, type Addresses } from '../../contracts/addresses.ts';
import { decideResponseSchema, type DecideRequest, type DecideResponse } from '../../contracts/decide.ts';
import { requestHeaders } from '../../contracts/headers.ts';
import { AbortScope } from './abort-scope.ts';
import type { Asker } from './asker.ts';
import { UserFault } from './user-fault.ts';

const modelListSchema = z.object({ data: z.array(z.object({ id: z.string() })) });
const errorBodySchema = z.object({ error: z.object({ message: z.string() }) });

const modelsLimitMs = 5_000;
/** A held turn waits for its admission; longer than this nobody waits for a label. */
const decideLimitMs = 120_000;

/** The proxy could not be asked at all, as against: it answered and said no. */
export class ProxyUnreachable extends Error {
  override readonly name = 'ProxyUnreachable';
}

export class ProxyClient {
  readonly #proxies: AddressOrder;
  readonly #authorization: Readonly<Record<string, string>>;

  /**
   * @param addresses root of the proxy, without `/v1`; of several the next is asked where one is away.
   * @param token what the services send to each other; null: nothing.
   */
  constructor(addresses: Addresses, token: string | null = null) {
    this.#proxies = new AddressOrder(addresses, () => performance.now());
    this.#authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  }

  /**
   * Names of the models of the pool.
   * @throws ProxyUnreachable when the proxy does not answer, or not with a list.
   */
  async models(): Promise<readonly string[]> {
    const response = await this.#fetch('/v1/models', {}, AbortSignal.timeout(modelsLimitMs));
    const list = modelListSchema.safeParse(await response.json().catch(() => null));
    if (!response.ok || !list.success) {
      throw new ProxyUnreachable(
        `the proxy at ${new URL(response.url).origin} gave no list of models (HTTP ${response.status})`,
      );
    }
    return [...new Set(list.data.data.map((model) => model.id))].toSorted();
  }

  /** @throws UserFault with the proxy's words when it refuses or cannot be reached. */
  async decide(
    request: DecideRequest,
    { caller, classCeiling }: Asker,
    signal: AbortSignal,
  ): Promise<DecideResponse> {
    const limit = AbortSignal.timeout(decideLimitMs);
    const either = new AbortScope(signal, limit);
    let response: Response;
    let body: unknown;
    try {
      const headers = {
        'content-type': 'application/json',
        [requestHeaders.caller[0]]: caller,
        ...(classCeiling === null ? {} : { [requestHeaders.serviceClass[0]]: classCeiling }),
      };
      const init = { method: 'POST', headers, body: JSON.stringify(request) };
      response = await this.#fetch('/v1/decide', init, either.signal);
      body = await response.json().catch(() => null);
    } catch (error) {
      signal.throwIfAborted();
      const words = limit.aborted
        ? `no decision within ${decideLimitMs / 1_000} s`
        : (error as Error).message;
      throw new UserFault('busy', `${words}; try again in a moment`, { cause: error });
    } finally {
      either.end();
    }
    const decision = decideResponseSchema.safeParse(body);
    if (response.ok && decision.success) return decision.data;
    const told = errorBodySchema.safeParse(body);
    const words = told.success ? told.data.error.message : `the proxy answered HTTP ${response.status}`;
    throw new UserFault(response.status < 500 ? 'invalid' : 'busy', `decide: ${words}`);
  }

  async #fetch(
    path: string,
    { headers, ...init }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
    signal: AbortSignal,
  ): Promise<Response> {
    let lost: ProxyUnreachable | null = null;
    const addresses = this.#proxies.inTurn();
    for (const address of addresses) {
      try {
        const response = await fetch(`${address}${path}`, {
          ...init,
          headers: { ...headers, ...this.#authorization },
          signal,
        });
        if (response.status === 503 && address !== addresses.at(-1)) {
          // It stops, or has no scheduler yet; another one may have.
          this.#proxies.noteAway(address);
          await response.body?.cancel();
          continue;
        }
        this.#proxies.noteAnswered(address);
        return response;
      } catch (error) {
        const cause =
          error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
        lost = new ProxyUnreachable(`the proxy at ${address} cannot be reached (${cause})`, { cause: error });
        if (signal.aborted) break;
        this.#proxies.noteAway(address);
      }
    }
    throw lost ?? new ProxyUnreachable('no proxy is known');
  }
}
