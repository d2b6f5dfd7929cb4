// What people come for, from one view to the next.

import type { Locator, Page } from '@playwright/test'
import { expect, overhear, Server, test, watch } from './server'

const SHORT = { train: { steps: 6, prompts_per_step: 8 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 4, before: false } }

test('a slider over temperatures leads to a job with that one', async ({ page, server }) => {
  const wrong = watch(page, server)
  const id = await server.job({ ...SHORT, name: 'kept', rollouts: { keep: true } })
  const set = (await server.wait(id)).rollout_set as string
  await page.goto(`${server.base}/jobs/${id}`)
  await page.getByRole('link', { name: set }).click()
  await expect(page.getByText('is recommended')).toBeVisible()
  const slider = page.getByRole('slider')
  const recommended = await slider.getAttribute('aria-valuetext')
  const weights = page.locator('.bar .num')
  const before = await weights.allInnerTexts()
  await slider.press('End')
  await slider.press('ArrowLeft')
  expect(await slider.getAttribute('aria-valuetext')).not.toBe(recommended)
  await expect.poll(() => weights.allInnerTexts()).not.toEqual(before)
  const start = page.getByRole('link', { name: /^Start BOLT with β/ })
  const chosen = /β = ([\d.]+)/.exec(await start.innerText())?.[1] ?? ''
  await start.click()
  // It is the job whose completions were looked at, with another temperature.
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('kept again')
  await expect(page.getByText('The server would take it.')).toBeVisible()
  await page.getByRole('button', { name: 'Start the job' }).click()
  await expect(page).toHaveURL(/\/jobs\/job_/)
  const made = await server.ask(`/v1/jobs/${page.url().split('/').at(-1)}`)
  expect(made.spec_resolved.objective.beta).toBeCloseTo(Number(chosen), 3)
  expect(made.spec_resolved.train.steps).toBe(6)
  expect(wrong).toEqual([])
})

test('where two jobs differ is forked, and the new one differs there only', async ({ page, server }) => {
  const wrong = watch(page, server)
  const [one, two] = [await server.job({ ...SHORT, name: 'left' }), await server.job({ ...SHORT, name: 'right', optimizer: { learning_rate: 0.0002 } })]
  await Promise.all([server.wait(one), server.wait(two)])
  await page.goto(`${server.base}/compare?jobs=${one},${two}`)
  const row = page.getByRole('row', { name: '/optimizer/learning_rate' })
  await expect(row.getByRole('cell')).toHaveText(['0.00001', /0\.0002/])
  await expect(page.getByRole('rowheader')).toHaveText(['/optimizer/learning_rate'])
  await row.getByRole('button', { name: 'fork left with it' }).click()
  await expect(page).toHaveURL(/\/jobs\/job_/)
  await page.getByRole('link', { name: one }).click()
  await expect(page.getByRole('heading', { name: 'left' })).toBeVisible()
  await page.goBack()
  const fork = await server.ask(`/v1/jobs/${page.url().split('/').at(-1)}`)
  expect(fork.forked_from).toBe(one)
  const { spec_resolved: spec } = await server.ask(`/v1/jobs/${one}`)
  expect({ ...fork.spec_resolved, name: '' }).toEqual({ ...spec, optimizer: { ...spec.optimizer, learning_rate: 0.0002 }, name: '' })
  expect(wrong).toEqual([])
})

test('a table of somebody else is uploaded, and its answers are audited before anything is trained on them', async ({ page, server }) => {
  const wrong = watch(page, server)
  await page.goto(`${server.base}/data`)
  const csv = 'Frage;Antwort\n1+1=;2\n2+2=;vier\n3+3=;6\n'
  await page.locator('input[type=file]').setInputFiles({ name: 'summen.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByLabel('Column of the prompt').selectOption('Frage')
  await page.getByLabel('Column of the answer').selectOption('Antwort')
  await expect(page.getByText('prompt 1+1=')).toBeVisible()
  await page.getByRole('button', { name: 'Upload' }).click()
  await expect(page.getByRole('cell', { name: 'vier' })).toBeVisible()
  await page.getByRole('link', { name: 'Verifiers' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('sums')
  await page.getByRole('button', { name: 'Store it' }).click()
  await page.getByRole('combobox', { name: 'Data' }).selectOption({ label: 'summen' })
  await page.getByRole('button', { name: 'Audit' }).click()
  await expect(page.getByText('2 of 3 answers pass')).toBeVisible()
  await expect(page.getByText('the expected answer "vier" is not a number')).toBeVisible()
  expect(wrong).toEqual([])
})

test('a prompt that one model solves and the other does not is tried with both', async ({ page, server }) => {
  test.setTimeout(180_000)
  const wrong = watch(page, server)
  const evaluate = (name: string, model: string) => server.ask('/v1/evaluations', { name, model, dataset: 'builtin:arithmetic', verifier: { type: 'numeric' }, samples: 2, prompts: 20, sampling: { max_new_tokens: 6 } })
  const made = [await evaluate('before', 'builtin:arith-scratch'), await evaluate('after', 'builtin:arith-tiny')]
  await Promise.all(made.map(({ job }) => server.wait(job as string)))
  await page.goto(`${server.base}/evaluations`)
  await page.getByRole('link', { name: 'after', exact: true }).click()
  await page.getByLabel('Compare with').selectOption(made[0]?.id as string)
  await expect(page.getByText('The candidate is better.')).toBeVisible()
  const flip = page.locator('section.card').first()
  await expect(flip.getByRole('heading', { name: 'after' })).toBeVisible()
  await expect(flip.getByRole('heading', { name: 'before' })).toBeVisible()
  await expect(flip.locator('.sides pre')).toHaveCount(4)
  await expect(flip.getByText(/^✓/).first()).toBeVisible()
  const prompt = await flip.locator('pre').first().innerText()
  await flip.getByRole('link', { name: 'To the playground' }).click()
  await expect(page).toHaveURL(/playground/)
  await expect(page.getByLabel('Prompt', { exact: true })).toHaveValue(prompt)
  await page.getByRole('button', { name: 'Sample', exact: true }).click()
  await expect(page.getByText(/\d of 4 pass/)).toHaveCount(2, { timeout: 60_000 })
  expect(wrong).toEqual([])
})

test('a sweep is followed, compared and extended', async ({ page, server }) => {
  test.setTimeout(240_000)
  const wrong = watch(page, server)
  const spec = {
    model: 'builtin:arith-tiny', dataset: { train: 'builtin:arithmetic' }, verifier: { type: 'numeric' }, objective: { type: 'grpo', group_size: 2 },
    sampling: { max_new_tokens: 6 }, train: { steps: 4, prompts_per_step: 4 }, eval: { every_steps: 2, prompts: 8, samples: 2, pass_at: [1, 2], before: false },
  }
  const body = { name: 'rates', spec, grid: { '/optimizer/learning_rate': [0.0001, 0.001] }, seeds: [1, 2], at_once: 2, halving: { steps: [2] } }
  const { id } = await server.ask('/v1/sweeps', body)
  await page.goto(`${server.base}/sweeps`)
  await page.getByRole('link', { name: 'rates', exact: true }).click()
  await expect(page).toHaveURL(new RegExp(`id=${id}`))
  await expect(page.getByText('4 of 4 trials are over')).toBeVisible({ timeout: 120_000 })
  await expect(page.getByText('After step 2 one configuration in 2 goes on, by pass@1 (maximized).')).toBeVisible()
  // All can be over before any was given up.
  await expect.poll(async () => (await server.ask(`/v1/sweeps/${id}`)).status, { timeout: 60_000 }).toBe('finished')
  const left = (await server.ask(`/v1/sweeps/${id}`)).trials.find((trial: { dropped: boolean }) => !trial.dropped).configuration as number
  const names = ['learning_rate 0.0001', 'learning_rate 0.001']
  await page.getByLabel('Compared with').selectOption({ label: names[left] ?? '' })
  await expect(page.getByText('given up after step 2')).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`baseline=${left}`))
  await page.getByLabel('Measured by').fill('luck')
  await page.getByLabel('Measured by').press('Tab')
  await expect(page.getByRole('alert').getByText(/pass@K/)).toBeVisible()
  await page.getByLabel('Measured by').fill('loss')
  await page.getByLabel('Measured by').press('Tab')
  await expect(page.getByRole('alert')).toHaveCount(0)
  await page.getByLabel('More seeds').fill('7, 8')
  await page.getByRole('button', { name: 'Try all configurations with them' }).click()
  await expect(page.getByText('6 of 6 trials are over')).toBeVisible({ timeout: 120_000 })
  await page.getByText('All trials').click()
  await expect(page.getByRole('cell', { name: '8', exact: true })).toBeVisible()
  await page.getByRole('link', { name: 'compare their curves' }).click()
  await expect(page).toHaveURL(/compare\?jobs=job_/)
  expect(wrong).toEqual([])
})

test('a job is paused, goes on, and proves that it would have ended with the same bits', async ({ page, server }) => {
  test.setTimeout(240_000)
  const wrong = watch(page, server)
  const id = await server.job({ ...SHORT, name: 'paused', train: { steps: 300, prompts_per_step: 2 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 30 }, checkpoints: { every_steps: 100 } })
  await page.goto(`${server.base}/jobs/${id}`)
  await expect(page.getByText(/of 300 steps are taken/)).toBeVisible({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByText(/It is paused after \d+ of 300 steps/)).toBeVisible({ timeout: 60_000 })
  expect((await server.ask(`/v1/jobs/${id}`)).step).toBeLessThan(300)
  // The same button; whoever came by keyboard is still at it.
  await expect(page.getByRole('button', { name: 'Resume' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('button', { name: 'Prove resume' })).toBeVisible({ timeout: 90_000 })
  await page.getByRole('button', { name: 'Prove resume' }).click()
  await expect(page).not.toHaveURL(new RegExp(id))
  await expect(page.getByText('Repeated from its checkpoint, the job ended with the same bits.')).toBeVisible({ timeout: 90_000 })
  await page.getByRole('link', { name: id }).click()
  await expect(page.getByRole('heading', { name: 'paused' })).toBeVisible()
  expect(wrong).toEqual([])
})

test('a finished checkpoint is exported and downloaded', async ({ page, server }) => {
  test.setTimeout(120_000)
  const wrong = watch(page, server)
  const id = await server.job({ ...SHORT, name: 'taken home', adapter: { type: 'lora', rank: 4 } })
  await page.goto(`${server.base}/jobs/${id}`)
  await expect(page.getByText('succeeded').first()).toBeVisible({ timeout: 60_000 })
  await page.goto(`${server.base}/jobs/${id}/checkpoints`)
  await page.getByText('take home').click()
  for (const [form, file] of [['GGUF, q8_0', 'model-q8_0.gguf'], ['Adapter for peft', 'adapter_config.json']]) {
    await page.getByLabel('Form of the export').selectOption(form)
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    const row = page.locator('div', { has: page.getByText('all as one archive') }).filter({ hasText: file })
    await expect(row.getByRole('link', { name: file }).last()).toBeVisible({ timeout: 30_000 })
  }
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'model-q8_0.gguf' }).click()])
  expect(download.suggestedFilename()).toBe('model-q8_0.gguf')
  // What the shapes of a model do not allow is said where it was asked for.
  await page.getByLabel('Form of the export').selectOption('GGUF, q4_k_m')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByText(/take q8_0/)).toBeVisible()
  await page.getByRole('button', { name: 'Delete the export gguf q8_0' }).click()
  await expect(page.getByRole('link', { name: 'model-q8_0.gguf' })).toHaveCount(0)
  expect(wrong.filter((line) => !line.includes('422'))).toEqual([])
})

/** Presses Tab until something has the focus, as somebody without a mouse does. */
async function tabTo(page: Page, to: Locator, most = 80) {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab')
    if (await to.evaluate((element) => element === document.activeElement)) return
  }
  throw new Error(`${to} cannot be reached`)
}

test('all of it without a mouse: signing in, going to a job and through its parts, starting one', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const key = (await server.ask('/v1/api-keys', { name: 'hands', scopes: ['read', 'write', 'admin'] })).key as string
    const bearer = { Authorization: `Bearer ${key}` }
    const id = await server.job({ ...SHORT, name: 'found by name' }, bearer)
    await page.goto(server.base)
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await tabTo(page, page.getByLabel('API key'))
    await page.keyboard.type(key)
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'Jobs', exact: true })).toBeVisible()
    // The view is where one goes on from, not the top of the page.
    await expect(page.getByRole('main')).toBeFocused()
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog')).toBeVisible()
    await page.keyboard.type('found by')
    await expect(page.getByRole('option', { name: 'found by name' })).toBeVisible()
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(new RegExp(id))
    await expect(page.getByRole('main')).toBeFocused()
    await expect(page.getByRole('heading', { name: 'found by name' })).toBeVisible()
    for (const part of ['Completions', 'Checkpoints', 'Spec', 'Events', 'Attempts']) {
      const link = page.getByRole('main').getByRole('link', { name: part, exact: true })
      await tabTo(page, link, 20)
      await page.keyboard.press('Enter')
      await expect(link).toHaveAttribute('aria-current', 'page')
      await expect(link).toBeFocused()
    }
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'New job' })).toBeVisible()
    const name = page.getByLabel('Name', { exact: true })
    await tabTo(page, name)
    await page.keyboard.press('Control+a')
    await page.keyboard.type('by hand')
    const steps = page.getByLabel('Steps', { exact: true })
    await tabTo(page, steps, 3)
    await page.keyboard.press('Control+a')
    await page.keyboard.type('4')
    const start = page.getByRole('button', { name: 'Start the job' })
    await tabTo(page, start)
    await expect(page.getByText('The server would take it.')).toBeVisible()
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/\/jobs\/job_/)
    await expect(page.getByRole('heading', { name: 'by hand' })).toBeVisible()
    await expect(page.getByRole('main')).toBeFocused()
    const made = await server.ask(`/v1/jobs/${page.url().split('/').at(-1)}`, undefined, bearer)
    expect(made.steps).toBe(4)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})

test('copying a request to make a job makes none', async ({ page, server }) => {
  const made: string[] = []
  page.on('request', (request) => request.method() === 'POST' && !request.url().includes('dry_run') && made.push(request.url()))
  await page.goto(`${server.base}/new`)
  await page.getByText('Copy as').click()
  await page.getByRole('button', { name: 'Copy curl' }).click()
  await expect(page.getByText(/is copied|does not let a page copy/)).toBeVisible()
  await page.waitForTimeout(300)
  expect(made).toEqual([])
})

test('two projects see nothing of each other: no job, no data, no event', async ({ browser }) => {
  const server = new Server()
  await server.start('--devices', 'simulated:2')
  const pages: Page[] = []
  try {
    const operator = (await server.ask('/v1/api-keys', { name: 'operator', scopes: ['read', 'write', 'admin'] })).key as string
    const begin = async (project: string) => {
      const { key } = await server.ask('/v1/api-keys', { name: project, project, scopes: ['read', 'write'] }, { Authorization: `Bearer ${operator}` })
      const bearer = { Authorization: `Bearer ${key}` }
      const job = await server.job({ ...SHORT, name: `job of ${project}`, train: { steps: 4000, prompts_per_step: 2 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 1000 } }, bearer)
      const waiting = await server.job({ ...SHORT, name: `queued of ${project}`, resources: { devices: 2 } }, bearer)
      const dataset = await server.ask(`/v1/datasets?name=rows-of-${project}`, JSON.stringify({ prompt: `secret of ${project}`, answer: '1' }), bearer)
      const page = await (await browser.newContext()).newPage()
      pages.push(page)
      const told = await overhear(page)
      await page.goto(`${server.base}/jobs`)
      await page.getByLabel('API key').fill(key as string)
      await page.getByRole('button', { name: 'Sign in' }).click()
      const heard = async (id: string) => (await told()).filter(({ data }) => data?.job === id).length
      const seen = async () => JSON.stringify(await told())
      return { project, page, job, waiting, dataset, heard, seen }
    }
    const both = [await begin('north'), await begin('south')]
    for (const [own, other] of [both, both.toReversed()]) {
      if (!own || !other) throw new Error('there are two')
      const { page } = own
      const wrong = watch(page, server)
      await expect(page.getByRole('row', { name: `job of ${own.project}` })).toBeVisible()
      await expect.poll(() => own.heard(own.job), { timeout: 60_000 }).toBeGreaterThan(3)
      for (const view of ['/jobs', '/compare', '/data', '/models', '/evaluations', '/operate', '/operate?tab=webhooks']) {
        await page.goto(server.base + view)
        await expect(page.getByText('live', { exact: true })).toBeVisible()
        await expect(page.getByText('Loading …')).toHaveCount(0)
        // What must not come has the time to.
        await page.waitForTimeout(400)
        await expect(page.getByText(`of-${other.project}`)).toHaveCount(0)
        await expect(page.getByText(`of ${other.project}`)).toHaveCount(0)
      }
      await page.goto(`${server.base}/data?id=${own.dataset.id}`)
      await expect(page.getByRole('cell', { name: `secret of ${own.project}` })).toBeVisible()
      // Not even whoever knows the ids.
      await page.goto(`${server.base}/data?id=${other.dataset.id}&version=${other.dataset.latest.id}`)
      await expect(page.getByRole('alert')).toBeVisible()
      await page.goto(`${server.base}/jobs/${other.job}`)
      await expect(page.getByRole('alert')).toContainText('no job')
      await page.keyboard.press('Control+k')
      await page.keyboard.type('job of')
      await expect(page.getByRole('option', { name: `job of ${own.project}` })).toBeVisible()
      await expect(page.getByRole('option', { name: `job of ${other.project}` })).toHaveCount(0)
      await expect.poll(() => own.heard(own.job), { timeout: 30_000 }).toBeGreaterThan(3)
      expect(await own.heard(other.job)).toBe(0)
      const all = await own.seen()
      for (const id of [other.job, other.waiting, `of ${other.project}`]) expect(all).not.toContain(id)
      expect(wrong).toEqual([])
    }
  } finally {
    for (const page of pages) await page.context().close()
    await server.remove()
  }
})
