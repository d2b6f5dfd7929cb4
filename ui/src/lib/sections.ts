// Which metrics are drawn, in the order of the questions that people have.

export type Section = {
  title: string
  question: string
  /** Only for jobs with this objective. */
  objective?: string
  charts: { title: string; hint?: string; keys: string[] }[]
}

export const SECTIONS: Section[] = [
  {
    title: 'reward and held-out rows',
    question: 'Is it learning?',
    charts: [
      { title: 'Reward', hint: 'mean of the completions of a step', keys: ['reward/mean'] },
      { title: 'Pass rate of samples', hint: 'of one completion, and of a whole group', keys: ['pass/at_1', 'pass/at_group'] },
    ],
  },
  {
    title: 'groups and verdicts',
    question: 'Is the signal alive?',
    charts: [
      { title: 'Groups without spread, truncated', hint: 'share of groups that teach nothing; share cut at the length limit', keys: ['reward/zero_spread', 'completion/truncated'] },
      { title: 'Length', hint: 'tokens of a completion', keys: ['completion/tokens_mean'] },
    ],
  },
  {
    title: 'updates',
    question: 'Is the optimizer healthy?',
    charts: [
      { title: 'Distance', hint: 'divergence from the start and from the sampling policy, in nats', keys: ['kl/reference', 'kl/behavior'] },
      { title: 'Effective sample size', hint: 'share of the step’s tokens', keys: ['ess/ratio'] },
      { title: 'Entropy', hint: 'nats per token', keys: ['entropy/mean'] },
      { title: 'Gradient', hint: 'norm before clipping', keys: ['grad/norm'] },
      { title: 'Loss', keys: ['loss'] },
    ],
  },
  {
    title: 'its target',
    question: 'What does BOLT aim at?',
    objective: 'bolt',
    charts: [{ title: 'Target', hint: 'share of the effective sample and of success under the target', keys: ['target/ess_share', 'target/success'] }],
  },
  {
    title: 'its clipping',
    question: 'What does P3O adapt to?',
    objective: 'p3o',
    charts: [{ title: 'Effective sample size of the batch', keys: ['p3o/ess'] }, { title: 'Clipped', keys: ['clip/fraction'] }],
  },
  {
    title: 'its schedule',
    question: 'What does FADE weigh?',
    objective: 'fade',
    charts: [{ title: 'Advantage', keys: ['fade/alpha', 'fade/delta'] }, { title: 'Entropy and its target', keys: ['fade/entropy', 'fade/entropy_target'] }],
  },
  {
    title: 'its teacher',
    question: 'How near is the teacher?',
    objective: 'vopd',
    charts: [{ title: 'Divergence from the teacher', keys: ['kl/teacher'] }, { title: 'Log-ratio', keys: ['vopd/log_ratio'] }],
  },
  {
    title: 'time',
    question: 'What does it cost?',
    charts: [{ title: 'Seconds', hint: 'of a step, and of sampling a round', keys: ['time/step_seconds', 'time/rollout_seconds'] }],
  },
]
