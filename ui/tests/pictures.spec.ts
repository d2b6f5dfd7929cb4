// Pictures of the page for the README and for whoever reviews a change: `scripts/ui.sh --pictures` writes them.

import { expect, test } from './server'

const FOLDER = process.env.PICTURES

test.skip(!FOLDER, 'pictures are made by scripts/ui.sh --pictures')

test('pictures of every view in both themes', async ({ page, server }) => {
  test.setTimeout(300_000)
  const spec = { train: { steps: 60, prompts_per_step: 32 }, objective: { type: 'bolt', beta: 0.25, group_size: 8, rounds: 4 }, optimizer: { learning_rate: 1e-4 }, eval: { every_steps: 15, samples: 4, pass_at: [1, 4], prompts: 80 }, rollouts: { keep: true } }
  const job = await server.job({ ...spec, name: 'bolt on sums' })
  const other = await server.job({ ...spec, name: 'a higher temperature', objective: { ...spec.objective, beta: 1 } })
  const done = await server.wait(job)
  await server.wait(other)
  const evaluate = (model: string) => server.ask('/v1/evaluations', { name: model.slice(0, 12), model, dataset: 'builtin:arithmetic', verifier: { type: 'numeric' }, samples: 4, prompts: 60, sampling: { max_new_tokens: 6 } })
  const [before, after] = [await evaluate('builtin:arith-tiny'), await evaluate(done.result.checkpoint as string)]
  await server.wait(before.job as string)
  await server.wait(after.job as string)
  const rows = Array.from({ length: 60 }, (_, i) => JSON.stringify({ prompt: `${i}+${i}=`, answer: String(2 * i) })).join('\n')
  const dataset = await server.ask('/v1/datasets?name=doubles', rows)
  const running = await server.job({ ...spec, name: 'one that runs', rollouts: {}, train: { steps: 4000, prompts_per_step: 32 } })
  const set = (await server.ask(`/v1/jobs/${job}`)).rollout_set as string
  const views: [string, string][] = [
    ['jobs', '/jobs'], ['job', `/jobs/${job}`], ['completions', `/jobs/${job}/completions`], ['compare', `/compare?jobs=${job},${other}`],
    ['frontier', `/frontier?set=${set}`], ['verifiers', '/verifiers'], ['data', `/data?id=${dataset.id}`], ['models', '/models'],
    ['playground', `/playground?models=builtin:arith-tiny,${done.result.checkpoint}`], ['evaluations', `/evaluations?id=${after.id}&against=${before.id}`], ['new', '/new'], ['operate', '/operate'], ['machines', '/operate?tab=machines'],
  ]
  await page.setViewportSize({ width: 1360, height: 940 })
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    for (const [name, view] of views) {
      await page.goto(server.base + view)
      await expect(page.getByText('Loading …')).toHaveCount(0)
      await page.waitForTimeout(900)
      await page.screenshot({ path: `${FOLDER}/${name}-${theme}.png` })
    }
  }
  await server.ask(`/v1/jobs/${running}/cancel`, {})
})
