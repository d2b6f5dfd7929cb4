// The API as its document describes it, with errors that can be shown.

import createClient from 'openapi-fetch'
import type { components, paths } from '../../../clients/typescript/src/schema'
import { lost } from './session.svelte'

export type Schemas = components['schemas']
export type FieldError = { pointer: string; code: string; detail: string }

/** An answer of 400 or more, or none at all. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly errors: FieldError[] = [],
    readonly requestId = '',
  ) {
    super(detail)
  }
}

export const api = createClient<paths>({ baseUrl: '' })

type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>

/** What an answer holds, or an error to show. */
export async function read<T>(answer: Answer<T>): Promise<T> {
  let got
  try {
    got = await answer
  } catch {
    throw new Refused(0, 'unreachable', 'The server does not answer. Is it running?')
  }
  if (got.response.ok) return got.data as T
  if (got.response.status === 401) lost()
  const problem = (got.error ?? {}) as { code?: string; detail?: string; errors?: FieldError[]; request_id?: string }
  const detail = problem.detail ?? `The server answered ${got.response.status}.`
  throw new Refused(got.response.status, problem.code ?? '', detail, problem.errors, problem.request_id)
}
