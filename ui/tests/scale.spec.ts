import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, PROGRAM, Server, test, watch } from './server'

const STEPS = 100_000
const NAMES = ['reward/mean', 'pass/at_1', 'pass/at_group', 'reward/zero_spread', 'completion/truncated', 'completion/tokens_mean', 'kl/reference', 'kl/behavior', 'ess/ratio', 'entropy/mean', 'grad/norm', 'loss', 'target/ess_share', 'target/success', 'time/step_seconds', 'time/rollout_seconds']

test('a job of a hundred thousand steps is drawn at once, and any part of it again', async ({ page }) => {
  test.setTimeout(300_000)
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const id = await server.job({ name: 'a long one' })
    await server.wait(id)
    await server.kill()
    execFileSync('python3', [join(import.meta.dirname, 'long_job.py'), join(server.data, 'anneal.db'), id, String(STEPS), ...NAMES])
    execFileSync(PROGRAM, ['doctor', '--reseal', '--data-dir', server.data], { stdio: 'ignore' })
    await server.start()
    await page.goto(`${server.base}/help`)
    let bytes = 0
    page.on('response', async (response) => {
      if (response.url().includes('/v1/metrics')) bytes += Number(response.headers()['content-length'] ?? 0)
    })
    const began = Date.now()
    const answered = page.waitForResponse(/\/v1\/metrics\?/)
    await page.goto(`${server.base}/jobs/${id}`)
    const chart = page.locator('figure', { has: page.getByRole('heading', { name: 'Reward', exact: true }) })
    await expect(chart.locator('canvas')).toBeVisible()
    const drawn = Date.now() - began
    const timing = (await answered).request().timing()
    await expect(chart.getByText(`at step ${STEPS}`)).toBeVisible()
    // Marks a fifth of the steps, again and again, and takes the time until it is drawn.
    const times: number[] = []
    for (let i = 0; i < 12; i++) {
      await chart.scrollIntoViewIfNeeded()
      const box = await chart.locator('.u-over').boundingBox()
      if (!box) throw new Error('nothing is drawn')
      const at = box.x + box.width * (0.1 + 0.05 * (i % 8))
      const got = page.waitForResponse(/from_step=/)
      await page.mouse.move(at, box.y + 40)
      await page.mouse.down()
      await page.mouse.move(at + box.width / 5, box.y + 60, { steps: 4 })
      const zoomed = Date.now()
      await page.mouse.up()
      await got
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
      times.push(Date.now() - zoomed)
      await page.getByRole('button', { name: 'All steps' }).click()
      await expect(page.getByRole('button', { name: 'All steps' })).toHaveCount(0)
      await page.waitForTimeout(200)
    }
    times.sort((a, b) => a - b)
    console.log(`${STEPS} steps: drawn after ${drawn} ms, the server answered in ${Math.round(timing.responseStart)} ms; zoom p50 ${times[6]} ms, p95 ${times[11]} ms`)
    // What stands out of a hundred thousand steps is seen, though it is one step among many.
    await expect(chart.locator('figcaption')).toContainText(/between -?[\d.]+ and [34]\./)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
