// What is known of the tokens of a completion, and how it is shown as colour.

import type { Schemas } from './api'
import { number } from './format'

type Rollout = Schemas['JobRollout']
export type Colour = 'none' | 'logprob' | 'entropy' | 'credit' | 'reference' | 'policy'

type Kind = {
  name: Colour
  title: string
  meaning: string
  /** Whether it is known of a completion. */
  known: (rollout: Rollout) => boolean
  values: (rollout: Rollout) => (number | undefined)[]
  /** What has the full colour; credit is shown against the greatest of its completion. */
  full: number | 'greatest'
  /** Whether below zero means something of its own. */
  signed: boolean
}

const less = (of: number[] | null | undefined, from: number[]) => from.map((value, i) => (of?.[i] === undefined ? undefined : of[i] - value))

export const COLOURS: Kind[] = [
  { name: 'logprob', title: 'log-probability', meaning: 'The darker a token, the less likely it was to be drawn.',
    known: ({ logprobs }) => logprobs.length > 0, values: ({ logprobs }) => logprobs.map((value) => -value), full: 5, signed: false },
  { name: 'entropy', title: 'entropy', meaning: 'The darker a token, the less sure the model was what to write there.',
    known: ({ entropies }) => !!entropies, values: ({ entropies }) => entropies ?? [], full: 3, signed: false },
  { name: 'credit', title: 'credit', meaning: 'Orange tokens were made more likely by the last step that trained on them, blue ones less; the darker, the more.',
    known: ({ credit }) => !!credit, values: ({ credit }) => credit ?? [], full: 'greatest', signed: true },
  { name: 'reference', title: 'distance from the start', meaning: 'Orange tokens are more likely than in the model that the job began with, blue ones less.',
    known: ({ reference_logprobs }) => !!reference_logprobs,
    values: ({ logprobs, reference_logprobs }) => less(reference_logprobs, logprobs).map((value) => (value === undefined ? value : -value)), full: 5, signed: true },
  { name: 'policy', title: 'drift of the policy', meaning: 'Orange tokens had become more likely when the last step trained on them than when they were drawn, blue ones less.',
    known: ({ policy_logprobs }) => !!policy_logprobs, values: ({ logprobs, policy_logprobs }) => less(policy_logprobs, logprobs), full: 2, signed: true },
]

/** A class for the background of each token, and a sentence with all that is known of it. */
export function shades(rollout: Rollout, colour: Colour): { shade: string; note: string }[] {
  const kind = COLOURS.find(({ name }) => name === colour)
  const values = kind?.values(rollout) ?? []
  const full = kind?.full === 'greatest' ? Math.max(1e-9, ...values.map((value) => Math.abs(value ?? 0))) : (kind?.full ?? 1)
  const known: [string, number[] | null | undefined][] = [
    ['log-probability', rollout.logprobs], ['entropy', rollout.entropies], ['credit', rollout.credit],
    ['at the start', rollout.reference_logprobs], ['when trained on', rollout.policy_logprobs],
  ]
  const heard = (i: number) => rollout.answers.some(({ tokens: [first = 0, end = 0] }) => first <= i && i < end)
  return rollout.tokens.map((token, i) => {
    if (heard(i)) return { shade: 'heard', note: `token ${token}, written by the environment` }
    const value = values[i] ?? 0
    const level = Math.round(4 * Math.min(1, Math.abs(value) / full))
    const side = value < 0 ? 'less' : kind?.signed ? 'more' : 'rare'
    const facts = known.flatMap(([name, of]) => (of?.[i] === undefined ? [] : [`${name} ${number(of[i])}`]))
    return { shade: level === 0 ? '' : side + level, note: [`token ${token}`, ...facts].join(', ') }
  })
}
