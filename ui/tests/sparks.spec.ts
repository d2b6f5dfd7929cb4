import { expect, Server, test, watch } from './server'

test('each job of the list shows the course of its reward, and few questions are asked for it', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const short = { train: { steps: 4, prompts_per_step: 2 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 2 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 2, before: false } }
    const ids: string[] = []
    for (let i = 0; i < 18; i++) ids.push(await server.job({ ...short, name: `short ${i}`, seed: i }))
    await Promise.all(ids.map((id) => server.wait(id)))
    const asked: string[] = []
    page.on('request', (request) => request.url().includes('/v1/metrics?') && asked.push(request.url()))
    await page.goto(`${server.base}/jobs`)
    const row = (name: string) => page.getByRole('row', { name })
    await expect(row('short 17').locator('polyline')).toBeVisible()
    await expect(row('short 17').getByText(/^reward\/mean: .* at step 4; between/)).toHaveCount(1)
    await expect(row('short 5').locator('polyline')).toBeVisible()
    // Fourteen rows are in sight, and the server draws eight jobs at once.
    expect(asked.length).toBe(2)
    await page.getByRole('region', { name: 'Jobs' }).evaluate((box) => (box.scrollTop = box.scrollHeight))
    await expect(row('short 0 ').locator('polyline')).toBeVisible()
    // What has ended is not asked for again.
    await page.waitForTimeout(9000)
    expect(asked.length).toBe(3)

    const running = await server.job({ ...short, name: 'a long one', train: { steps: 4000, prompts_per_step: 2 }, objective: { ...short.objective, rounds: 1000 } })
    await page.getByRole('region', { name: 'Jobs' }).evaluate((box) => (box.scrollTop = 0))
    const course = row('a long one').getByText(/^reward\/mean/)
    const step = async () => Number(/at step (\d+)/.exec((await course.textContent()) ?? '')?.[1])
    await expect(course).toHaveCount(1, { timeout: 60_000 })
    const before = [await step(), asked.length] as const
    await page.waitForTimeout(9000)
    expect(await step()).toBeGreaterThan(before[0])
    expect(asked.length - before[1]).toBeLessThanOrEqual(3)
    await server.ask(`/v1/jobs/${running}/cancel`, {})
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
