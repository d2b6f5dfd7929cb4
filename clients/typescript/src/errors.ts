/** What goes wrong, and how long to be patient with it. */
import type { components } from "./schema.js";

type Problem = components["schemas"]["Problem"];

/** The server said no. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    /** What it said, if it said it in the form of the API. */
    readonly problem: Problem | undefined,
  ) {
    super(`${status} ${problem?.code ?? "unknown"}: ${problem?.detail ?? "the answer is none of the API's"}`);
  }

  /** The stable, machine-readable reason. */
  get code(): string {
    return this.problem?.code ?? "unknown";
  }

  static async of(response: Response): Promise<ApiError> {
    const body: unknown = await response.json().catch(() => undefined);
    return new ApiError(response.status, isProblem(body) ? body : undefined);
  }
}

/** The connection broke again and again without any progress. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** What was received is not what the manifest promises; nothing was kept of it. */
export class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body && "detail" in body;
}

/** The answer of a function of `api`; an error answer is thrown as an `ApiError`. */
export async function unwrap<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (data === undefined) throw new ApiError(response.status, isProblem(error) ? error : undefined);
  return data;
}

/** Answers after which the same request may succeed a little later. */
export const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Something that another attempt may repair. */
export class Interrupted extends Error {
  constructor(
    cause: unknown,
    readonly retryAfter: string | null = null,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Waits longer and longer between attempts without progress, and then gives up. */
export class Patience {
  private failures = 0;

  constructor(private readonly retries: number) {}

  progress(): void {
    this.failures = 0;
  }

  async wait(interruption: Interrupted): Promise<void> {
    this.failures += 1;
    if (this.failures > this.retries) {
      throw new ConnectionLost(`no progress in ${this.retries} attempts: ${interruption.message}`, { cause: interruption });
    }
    let pause = Math.min(5000, 100 * 2 ** (this.failures - 1)) * (0.5 + Math.random() / 2);
    const asked = Number(interruption.retryAfter ?? "0");
    if (asked > 0) pause = Math.max(pause, Math.min(asked, 60) * 1000);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
