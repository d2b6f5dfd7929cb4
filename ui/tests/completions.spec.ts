import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, Server, test, watch } from './server'

test('completions are coloured by what is known of each token, ordered, and judged again in place', async ({ page, server }) => {
  const wrong = watch(page, server)
  const id = await server.job({ name: 'looked at', objective: { type: 'grpo', group_size: 4 }, train: { steps: 4, prompts_per_step: 8 } })
  await server.wait(id)
  await page.goto(`${server.base}/jobs/${id}/completions`)
  const group = page.getByRole('region', { name: /^Row \d+ at step/ })
  await expect(group.getByRole('article')).toHaveCount(4)
  for (const [colour, note] of [['logprob', /log-probability -/], ['entropy', /entropy \d/], ['credit', /credit -?\d/], ['reference', /at the start -/], ['policy', /when trained on -/]] as const) {
    await page.getByLabel('Colour of tokens').selectOption(colour)
    // What is known of a token is had without a mouse.
    await group.getByRole('listbox').first().press('Home')
    await expect(group.getByRole('status').filter({ hasText: /^1 of \d+: token \d+/ })).toHaveText(note)
  }
  await expect(group.getByText(/trained on in step \d/).first()).toBeVisible()

  await page.getByLabel('Order').selectOption('widest_spread')
  const table = page.getByRole('region', { name: 'Prompts with their completions' })
  const spreads = async () => (await table.locator('tr.group td:nth-child(5)').allTextContents()).map(Number)
  await expect.poll(async () => (await spreads()).length > 3 && (await spreads()).every((spread, i, all) => i === 0 || spread <= (all[i - 1] ?? 0))).toBe(true)
  await page.getByLabel('mixed rewards only').check()
  await expect(page).toHaveURL(/mixed=1/)
  await expect.poll(async () => (await spreads()).length > 0 && (await spreads()).every((spread) => spread > 0)).toBe(true)

  // By keyboard: the next prompt, then another verifier for it.
  const first = page.url()
  await page.locator('body').press('j')
  await expect(page).not.toHaveURL(first)
  await page.locator('body').press('r')
  await expect(page.getByLabel('Configuration')).toBeFocused()
  await page.getByLabel('Configuration').fill('{"type": "numeric", "correct_reward": 0.25}')
  await page.getByRole('button', { name: 'Judge', exact: true }).click()
  await expect(page.getByText(/\d of 4 rewards change/)).toBeVisible()
  await expect(group.getByText(/Otherwise by the other verifier/).first()).toBeVisible()
  await page.getByLabel('Configuration').fill('{"type": "numeric", "correct_reward": ')
  await page.getByRole('button', { name: 'Judge', exact: true }).click()
  await expect(page.getByText('The configuration is not JSON.')).toBeVisible()
  await page.getByLabel('Configuration').fill('{"type": "numeric", "correct_reward": 0.25}')
  await page.getByRole('button', { name: 'Judge', exact: true }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save them as JSON lines' }).click()
  const lines = readFileSync(await (await download).path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as { spread: number; tokens: number[] })
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.every(({ spread, tokens }) => spread > 0 && tokens.length > 0)).toBe(true)
  await page.getByRole('button', { name: 'Fork the job with this verifier' }).click()
  await expect(page).toHaveURL(/\/jobs\/job_[0-9a-f]{32}$/)
  expect(page.url()).not.toContain(id)
  expect(wrong).toEqual([])
})

test('keys go through all prompts, in sight, and a verdict stays while the job is read again', async ({ page, server }) => {
  const wrong = watch(page, server)
  const id = await server.job({ name: 'by keys', train: { steps: 4, prompts_per_step: 8 } })
  await server.wait(id)
  // Pages of few prompts, as long completions make them, come until there are enough to scroll.
  await page.route('**/v1/jobs/*/rollouts?*limit=1000&light*', (route) => route.continue({ url: route.request().url().replace('limit=1000', 'limit=7') }))
  await page.goto(`${server.base}/jobs/${id}/completions`)
  const table = page.getByRole('region', { name: 'Prompts with their completions' })
  await expect.poll(async () => parseInt((await page.getByText(/prompts with \d+ completions/).textContent()) ?? '')).toBeGreaterThan(15)
  for (let i = 0; i < 15; i++) await page.locator('body').press('j')
  const chosen = table.locator('tr.current')
  await expect(chosen).toBeInViewport()
  const row = (await chosen.locator('td').nth(1).textContent()) ?? ''
  await expect(page.getByRole('region', { name: new RegExp(`^Row ${row} at step`) })).toBeVisible()
  await page.locator('body').press('r')
  await page.getByLabel('Configuration').fill('{"type": "numeric", "correct_reward": 0.25}')
  const [judged] = await Promise.all([page.waitForResponse(/judge/), page.getByRole('button', { name: 'Judge', exact: true }).click()])
  expect(judged.ok()).toBe(true)
  const said = page.getByText(/rewards change|No reward changes/)
  await expect(said).toBeVisible()
  await page.waitForResponse((answer) => new URL(answer.url()).pathname === `/v1/jobs/${id}`, { timeout: 20_000 })
  await expect(said).toBeVisible()

  await page.getByLabel('Row', { exact: true }).fill(row)
  await page.getByLabel('Row', { exact: true }).press('Enter')
  await expect.poll(async () => new Set(await table.locator('tr.group td:nth-child(2)').allTextContents())).toEqual(new Set([row]))
  expect(wrong).toEqual([])
})

const ROUNDS = 1000
const GROUPS = 25
const SAMPLES = 4

test('a hundred thousand completions are scrolled with few rows in the document', async ({ page }) => {
  test.setTimeout(600_000)
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const id = await server.job({ name: 'many' })
    await server.wait(id)
    const folder = join(server.data, 'jobs', id, 'sample')
    const round = readdirSync(folder)[0] ?? ''
    const model = JSON.parse(readFileSync(join(folder, round), 'utf8').split('\n')[0] ?? '') as { rollouts: object[]; pieces: string[][] }
    for (let step = 0; step < ROUNDS; step++) {
      const lines = Array.from({ length: GROUPS }, (_, row) => {
        const rollouts = Array.from({ length: SAMPLES }, (_, sample) => ({ ...model.rollouts[0], sample, text: `${step}-${row}-${sample}`, reward: sample % 2 }))
        return JSON.stringify({ ...model, step, row, text: `prompt ${row} of step ${step}`, rollouts, pieces: [], learned: [] })
      })
      writeFileSync(join(folder, `${String(step).padStart(9, '0')}.jsonl`), lines.join('\n') + '\n')
    }
    await page.goto(`${server.base}/jobs/${id}/completions`)
    const table = page.getByRole('region', { name: 'Prompts with their completions' })
    await expect(table).toBeVisible()
    const status = page.getByText(/prompts with [\d,]+ completions/)
    const began = Date.now()
    let [most, pages] = [0, 0]
    for (let text = ''; !text.startsWith(`${ROUNDS * GROUPS} prompts`); pages++) {
      await table.evaluate((window) => window.scrollTo(0, window.scrollHeight))
      await expect(status).not.toHaveText(text || 'nothing')
      text = (await status.textContent()) ?? ''
      most = Math.max(most, await table.locator('tbody tr').count())
    }
    const scrolled = Date.now() - began
    await table.evaluate((window) => window.scrollTo(0, window.scrollHeight))
    await expect(table.getByText('prompt 0 of step 0', { exact: true })).toBeVisible()
    expect(most).toBeLessThanOrEqual(50)

    const asked = Date.now()
    await page.getByLabel('Text').fill('prompt 7 of step 998')
    await expect(table.locator('tr.group')).toHaveCount(1)
    const filtered = Date.now() - asked
    await page.getByLabel('Text').fill('21-9-2')
    await expect(page.getByRole('article').locator('mark')).toHaveText(['21-9-2'])
    const deep = Date.now()
    await page.getByLabel('Text').fill('prompt 7 of step 13')
    await expect(table.getByText('prompt 7 of step 13', { exact: true })).toBeVisible()
    console.log(`${ROUNDS * GROUPS * SAMPLES} completions: scrolled to the end in ${scrolled} ms and ${pages} pages with ${most} rows in the document; filtered after ${filtered} ms, ${Date.now() - deep} ms where all are read`)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
