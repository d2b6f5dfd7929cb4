import { barriers, expect, Server, test, watch } from './server'

test('a newcomer goes from the empty page to a finished job and tries its model, in ten clicks', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  let clicks = 0
  const click = async (name: string, role: 'link' | 'button' = 'button') => {
    clicks += 1
    await page.getByRole(role, { name }).first().click()
  }
  await page.goto(server.base)
  await expect(page.getByText('There are no jobs yet')).toBeVisible()
  await click('Run the example', 'link')
  // The whole example takes a minute on this machine; a part of it shows the same.
  const text = page.getByLabel('The spec as JSON')
  const spec = JSON.parse(await text.inputValue())
  await text.fill(JSON.stringify({ ...spec, train: { steps: 12, prompts_per_step: 16 }, eval: { every_steps: 6, samples: 2, pass_at: [1], prompts: 40 } }, null, 2))
  await expect(page.getByText('The server would take it.')).toBeVisible()
  await click('Start the job')
  await expect(page).toHaveURL(/\/jobs\/job_/)
  await expect(page.getByText('succeeded')).toBeVisible({ timeout: 90_000 })
  await expect(page.locator('.verdict')).toContainText('pass@1 on held-out rows went from')
  await expect(page.getByRole('heading', { name: 'Reward', exact: true })).toBeVisible()
  await click('try it', 'link')
  await click('Sample')
  await expect(page.getByText(/\d of 4 pass/)).toBeVisible({ timeout: 60_000 })
  expect(clicks).toBeLessThanOrEqual(10)
  expect(wrong).toEqual([])
  await page.close()
  await server.remove()
})

test('a wrong field is named at the field, and the spec is kept', async ({ page, server }) => {
  const wrong = watch(page, server)
  await page.goto(`${server.base}/new`)
  await page.getByLabel('beta', { exact: true }).fill('-1')
  await page.getByLabel('beta', { exact: true }).press('Tab')
  await expect(page.getByText('The server would refuse it.')).toBeVisible()
  await expect(page.getByLabel('beta', { exact: true })).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('beta', { exact: true }).fill('0.5')
  await page.getByLabel('beta', { exact: true }).press('Tab')
  await expect(page.getByText('The server would take it.')).toBeVisible()
  await expect(page.getByLabel('The spec as JSON')).toHaveValue(/"beta": 0.5/)
  expect(wrong).toEqual([])
})

test('a point of a chart leads to the completions of its step', async ({ page, server }) => {
  const wrong = watch(page, server)
  const id = await server.job({ name: 'points' })
  await server.wait(id)
  await page.goto(`${server.base}/jobs/${id}`)
  const chart = page.locator('figure', { has: page.getByRole('heading', { name: 'Reward', exact: true }) })
  await chart.getByText('Table').click()
  await chart.getByRole('button', { name: '6', exact: true }).click()
  await expect(page).toHaveURL(/completions\?until=5/)
  await page.goto(`${server.base}/jobs/${id}/completions`)
  await expect(page.getByText(/reward \d/).first()).toBeVisible()
  await page.getByLabel('Verdict').selectOption('failed')
  await expect(page.locator('tr.group .strip i.pass')).toHaveCount(0)
  await expect(page.locator('tr.group .strip i').first()).toBeVisible()
  expect(wrong).toEqual([])
})

test('two jobs are compared, and what differs is forked', async ({ page, server }) => {
  const wrong = watch(page, server)
  const one = await server.job({ name: 'one' })
  const two = await server.job({ name: 'two', seed: 4 })
  await Promise.all([server.wait(one), server.wait(two)])
  await page.goto(`${server.base}/jobs`)
  await page.getByLabel('Choose one').check()
  await page.getByLabel('Choose two').check()
  await page.getByRole('button', { name: 'Compare 2' }).click()
  await expect(page.getByRole('rowheader', { name: '/seed' })).toBeVisible()
  await page.getByRole('button', { name: /fork .* with it/ }).first().click()
  await expect(page).toHaveURL(/\/jobs\/job_/)
  expect(wrong).toEqual([])
})

test('a data set is uploaded as CSV, and its columns are mapped', async ({ page, server }) => {
  const wrong = watch(page, server)
  await page.goto(`${server.base}/data`)
  const csv = 'Question,Solution\n"1+1=",2\n"He said ""2+2=""",4\n'
  await page.locator('input[type=file]').setInputFiles({ name: 'sums.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await expect(page.getByLabel('Column of the prompt')).toHaveValue('Question')
  await page.getByRole('button', { name: 'Upload' }).click()
  await expect(page.getByRole('cell', { name: 'He said "2+2="' })).toBeVisible()
  expect(wrong).toEqual([])
})

test('a verifier judges while one types', async ({ page, server }) => {
  const wrong = watch(page, server)
  await page.goto(`${server.base}/verifiers`)
  await expect(page.getByText('✓ ok, reward 1')).toHaveCount(1)
  await page.getByLabel('Completion', { exact: true }).nth(1).fill('It is 12.')
  await expect(page.getByText('✓ ok, reward 1')).toHaveCount(2)
  expect(wrong).toEqual([])
})

const VIEWS = ['/jobs', '/jobs/:job', '/jobs/:job/completions', '/jobs/:job/checkpoints', '/jobs/:job/spec', '/jobs/:job/events', '/jobs/:job/attempts', '/new', '/compare?jobs=:job,:other', '/frontier', '/data', '/verifiers', '/models', '/playground', '/evaluations', '/sweeps', '/operate', '/operate?tab=machines', '/operate?tab=keys', '/operate?tab=audit', '/operate?tab=webhooks', '/help', '/docs/', '/docs/errors', '/docs/api']

for (const theme of ['light', 'dark'] as const) {
  test(`everybody can use every view, ${theme}`, async ({ page, server }) => {
    test.setTimeout(300_000)
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    const wrong = watch(page, server)
    const [job, other] = [await server.job({ name: 'seen' }), await server.job({ name: 'seen too', seed: 9 })]
    await Promise.all([server.wait(job), server.wait(other)])
    const found: string[] = []
    for (const view of VIEWS) {
      await page.goto(server.base + view.replace(':job', job).replace(':other', other))
      await page.waitForLoadState('load')
      await expect(page.getByText('Loading …')).toHaveCount(0)
      await page.waitForTimeout(300)
      found.push(...(await barriers(page)).map((barrier) => `${view} ${barrier}`))
    }
    expect(found).toEqual([])
    expect(wrong).toEqual([])
  })
}

test('nothing runs over the edge at 320 pixels', async ({ page, server }) => {
  await page.setViewportSize({ width: 320, height: 700 })
  const found: string[] = []
  const id = await server.job({ name: 'narrow' })
  await server.wait(id)
  const views = ['/jobs', `/jobs/${id}`, `/jobs/${id}/completions?colour=logprob`, '/compare', '/new', '/frontier', '/verifiers', '/data', '/models', '/playground', '/evaluations', '/sweeps', '/operate', '/operate?tab=machines', '/operate?tab=keys', '/help', '/docs/']
  for (const view of views) {
    await page.goto(server.base + view)
    await page.waitForTimeout(300)
    const over = await page.evaluate(() => [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest('.scroll, .window, .visually-hidden, pre, .u-wrap, svg')).map((one) => one.outerHTML.slice(0, 100)))
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    if (wide) found.push(`${view}: ${over.slice(0, 3).join(' | ')}`)
  }
  expect(found).toEqual([])
})
