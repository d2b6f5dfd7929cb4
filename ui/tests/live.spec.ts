import { expect, Server, test, watch } from './server'

const LONG = { name: 'long', train: { steps: 4000, prompts_per_step: 2 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 1000 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 4, before: false }, checkpoints: { every_steps: 20 }, rollouts: { sample: 4 } }

/** The steps in the table of a chart, the newest first. */
async function steps(page: import('@playwright/test').Page) {
  const chart = page.locator('figure', { has: page.getByRole('heading', { name: 'Reward', exact: true }) })
  if (!(await chart.getByRole('region').isVisible())) await chart.getByText('Table').click()
  return (await chart.locator('tbody tr td:first-child').allInnerTexts()).map(Number)
}

test('a killed server is back within seconds, and no step is missing or there twice', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const id = await server.job(LONG)
    await page.goto(`${server.base}/jobs/${id}`)
    await expect(page.getByRole('heading', { name: 'Reward', exact: true })).toBeVisible({ timeout: 60_000 })
    const before = Math.max(...(await steps(page)))
    await expect.poll(async () => Math.max(...(await steps(page))), { timeout: 30_000 }).toBeGreaterThan(before + 5)
    await server.kill()
    await expect(page.getByText('connecting …')).toBeVisible()
    await server.start()
    const began = Date.now()
    await expect(page.getByText('live', { exact: true })).toBeVisible({ timeout: 20_000 })
    console.log(`live again ${Date.now() - began} ms after the server was there`)
    const there = Math.max(...(await steps(page)))
    await expect.poll(async () => Math.max(...(await steps(page))), { timeout: 60_000 }).toBeGreaterThan(there + 10)
    const seen = await steps(page)
    const expected = Array.from({ length: seen.length }, (_, i) => (seen[0] ?? 0) - i)
    expect(seen).toEqual(expected)
    expect(wrong.filter((text) => !text.includes('ERR_CONNECTION'))).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})

test('twelve tabs share one stream and all are live', async ({ context, server }) => {
  const id = await server.job({ ...LONG, name: 'shared' })
  const pages = []
  for (let i = 0; i < 12; i++) {
    const page = await context.newPage()
    await page.goto(`${server.base}/jobs/${id}`)
    pages.push(page)
  }
  for (const page of pages) await expect(page.getByText('live', { exact: true })).toBeVisible()
  const last = pages[11]
  if (!last) throw new Error('no page')
  await expect(last.getByRole('heading', { name: 'Reward', exact: true })).toBeVisible({ timeout: 60_000 })
  const before = Math.max(...(await steps(last)))
  await expect.poll(async () => Math.max(...(await steps(last))), { timeout: 30_000 }).toBeGreaterThan(before)
  // Of the browser's connections to the server one is a stream; with one a tab the seventh would hang.
  const workers = await context.pages()[0]?.evaluate(() => performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/v1/events?stream')).length)
  expect(workers).toBe(0)
  await server.ask(`/v1/jobs/${id}/cancel`, {})
  for (const page of pages) await page.close()
})

test('a key that is revoked ends the page, and signing in brings it back', async ({ page }) => {
  const server = new Server()
  await server.start()
  try {
    const admin = (await server.ask('/v1/api-keys', { name: 'admin', scopes: ['read', 'write', 'admin'] })).key as string
    const bearer = { Authorization: `Bearer ${admin}` }
    const reader = await server.ask('/v1/api-keys', { name: 'reader', scopes: ['read'] }, bearer)
    await page.goto(`${server.base}/jobs`)
    await page.getByLabel('API key').fill('ak_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect(page.getByText('not known here')).toBeVisible()
    await page.getByLabel('API key').fill(reader.key as string)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect(page.getByText('There are no jobs yet')).toBeVisible()
    // Scripts see neither the key nor the cookie.
    expect(await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage))).not.toMatch(/a[ks]_/)
    await server.ask(`/v1/api-keys/${reader.id}/revoke`, {}, bearer)
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible({ timeout: 15_000 })
    await expect(page.getByText('was revoked')).toBeVisible()
    const link = await server.ask('/v1/sessions/links', {}, bearer)
    await page.goto('about:blank')
    await page.goto(server.base + (link.path as string))
    await expect(page.getByText('There are no jobs yet')).toBeVisible()
    expect(page.url()).not.toContain('as_')
  } finally {
    await page.close()
    await server.remove()
  }
})

test('a job that is deleted while it is shown says so', async ({ page, server }) => {
  const id = await server.job({ name: 'short-lived' })
  await server.wait(id)
  await page.goto(`${server.base}/jobs/${id}`)
  await expect(page.getByRole('heading', { name: 'short-lived' })).toBeVisible()
  await fetch(`${server.base}/v1/jobs/${id}`, { method: 'DELETE' })
  await expect(page.getByText('This job was deleted')).toBeVisible({ timeout: 30_000 })
})

test('a thousand jobs are usable at once, with few rows in the document', async ({ page }) => {
  test.setTimeout(180_000)
  // Nobody else waits behind them.
  const server = new Server()
  await server.start()
  // One after the other they wait behind the first.
  await server.job({ ...LONG, name: 'first' })
  for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 10 }, (_, j) => server.job({ name: `many ${10 * i + j}` })))
  await page.goto('about:blank')
  const began = Date.now()
  await page.goto(`${server.base}/jobs`)
  await expect(page.getByRole('link', { name: /^many 9/ }).first()).toBeVisible()
  console.log(`the first of a thousand jobs after ${Date.now() - began} ms`)
  const region = page.getByRole('region', { name: 'Jobs' })
  const most = async () => expect(await region.locator('tr.job').count()).toBeLessThanOrEqual(50)
  for (let i = 0; i < 40 && !(await region.getByRole('link', { name: 'first' }).isVisible()); i++) {
    await region.evaluate((box) => (box.scrollTop = box.scrollHeight))
    await page.waitForTimeout(150)
    await most()
  }
  // All of them were read, and only those in sight are there; the rows stand where they would if all were.
  await expect(region.getByRole('link', { name: 'first' })).toBeVisible()
  await expect(region.getByRole('table')).toHaveAttribute('aria-rowcount', '1001')
  expect(await region.evaluate((box) => box.scrollHeight)).toBeGreaterThan(1001 * 46)
  for (const share of [0.75, 0.5, 0.25, 0]) {
    await region.evaluate((box, share) => (box.scrollTop = share * box.scrollHeight), share)
    const name = new RegExp(`^many ${Math.max(0, Math.min(9, Math.floor(10 * (1 - share)) - (share ? 0 : 1)))}`)
    await expect(region.getByRole('link', { name }).first()).toBeVisible()
    await most()
  }
  const list = await server.ask('/v1/jobs?status=queued&limit=1')
  expect(list.data.length).toBe(1)
  await page.close()
  await server.remove()
})
