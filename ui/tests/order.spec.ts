import type { Page } from '@playwright/test'
import { expect, overhear, Server, test, watch } from './server'

/** Holds one answer to an address with `part` in it back, until what this returns is called. */
async function hold(page: Page, part: string) {
  let release = () => {}
  const released = new Promise<void>((ready) => (release = ready))
  await page.route((url) => url.href.includes(part), async (route) => {
    const response = await route.fetch()
    await released
    await route.fulfill({ response })
  }, { times: 1 })
  return async () => {
    const arrived = page.waitForResponse((response) => response.url().includes(part))
    release()
    await (await arrived).finished()
    await page.waitForTimeout(200)
  }
}

test('a slow answer does not take the place of a later one', async ({ page, server }) => {
  const wrong = watch(page, server)
  const rows = Array.from({ length: 30 }, (_, i) => JSON.stringify({ prompt: `prompt ${i}`, answer: String(i) })).join('\n')
  const dataset = await server.ask('/v1/datasets?name=ordered', rows)
  await server.job({ name: 'aa early' })
  await server.job({ name: 'ab late' })
  await page.goto(`${server.base}/data?id=${dataset.id}`)
  const first = page.getByRole('cell', { name: 'prompt 0', exact: true })
  await expect(first).toBeVisible()
  const letRows = await hold(page, 'rows?offset=20')
  await page.getByRole('button', { name: 'Later rows' }).click()
  await page.getByRole('button', { name: 'Earlier rows' }).click()
  await expect(page.getByRole('button', { name: 'Earlier rows' })).toBeDisabled()
  await letRows()
  await expect(first).toBeVisible()

  const letJobs = await hold(page, 'q=aa')
  await page.keyboard.press('Control+k')
  const asked = page.waitForRequest(/q=aa/)
  await page.keyboard.type('aa')
  await asked
  await page.getByLabel('A view or the name of a job').fill('ab')
  await expect(page.getByRole('option', { name: 'ab late' })).toBeVisible()
  await letJobs()
  await expect(page.getByRole('option', { name: 'ab late' })).toBeVisible()
  await expect(page.getByRole('option', { name: 'aa early' })).toHaveCount(0)
  expect(wrong).toEqual([])
})

test('whoever signs in next hears their own events at once, and none of the one before', async ({ context }) => {
  const server = new Server()
  await server.start('--devices', 'simulated:2')
  try {
    const admin = (await server.ask('/v1/api-keys', { name: 'operator', scopes: ['read', 'write', 'admin'] })).key as string
    const key = async (project: string) => (await server.ask('/v1/api-keys', { name: project, project, scopes: ['read', 'write'] }, { Authorization: `Bearer ${admin}` })).key as string
    const [one, two] = [await key('one'), await key('two')]
    const long = { train: { steps: 4000, prompts_per_step: 2 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 1000 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 4, before: false } }
    const job = async (name: string, secret: string) => (await server.job({ ...long, name }, { Authorization: `Bearer ${secret}` }))
    const [ours, theirs] = [await job('of one', one), await job('of two', two)]
    const page = await context.newPage()
    const told = await overhear(page)
    const heard = async (id: string) => (await told()).filter((message) => message.data?.job === id).length
    const signIn = async (secret: string) => {
      await page.getByLabel('API key').fill(secret)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await page.goto(`${server.base}/jobs`)
    await signIn(one)
    await expect(page.getByRole('link', { name: 'of one' }).first()).toBeVisible()
    await expect.poll(() => heard(ours), { timeout: 60_000 }).toBeGreaterThan(5)
    expect(await heard(theirs)).toBe(0)
    await expect.poll(async () => (await server.ask(`/v1/jobs/${theirs}`, undefined, { Authorization: `Bearer ${two}` })).step, { timeout: 60_000 }).toBeGreaterThan(0)
    const other = await context.newPage()
    await other.goto(`${server.base}/jobs`)
    await expect(other.getByRole('link', { name: 'of one' }).first()).toBeVisible()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expect(other.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await signIn(two)
    const began = Date.now()
    await expect.poll(() => heard(theirs), { timeout: 60_000, intervals: [20] }).toBeGreaterThan(0)
    const waited = Date.now() - began
    console.log(`events of the next project after ${waited} ms`)
    expect(waited).toBeLessThan(3000)
    const all = await told()
    const answered = all.findLastIndex(({ kind }) => kind === 'answered')
    expect(answered).toBeGreaterThan(0)
    expect(all.slice(answered).filter((message) => message.data?.job === ours)).toEqual([])
    await expect(page.getByRole('link', { name: 'of two' }).first()).toBeVisible()
    await expect(page.getByText('of one')).toHaveCount(0)
    // A browser has one session, and its tabs know.
    await expect(other.getByRole('link', { name: 'of two' }).first()).toBeVisible()
    await expect(other.getByText('of one')).toHaveCount(0)
    await other.close()
    await page.close()
  } finally {
    await server.remove()
  }
})
