import { expect, Server, test, watch } from './server'

// Ten minutes in scripts/full_check.sh; a change is tried for half a minute.
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.5)
const MOST_HEAP = 20 * 1024 * 1024
const MOST_TASK = 200
/** Milliseconds after which the page's work is looked at; no task within took more than all of them. */
const LOOK = 250
/** How long it took and when it began, in milliseconds. */
type Task = [number, number]

test('four jobs in twelve charts, live: no long task and no growth', async ({ page }) => {
  test.setTimeout(MINUTES * 60_000 + 300_000)
  // What the page takes is looked at, and not how two cores are shared by it and four trainings.
  const server = new Server(true)
  await server.start('--devices', 'simulated:4')
  const wrong = watch(page, server)
  try {
    const ids = []
    for (let i = 0; i < 4; i++) {
      ids.push(await server.job({
        name: `soaked ${i}`, seed: i, train: { steps: 100_000, prompts_per_step: 16 }, objective: { type: 'bolt', beta: 0.25, group_size: 2, rounds: 100 },
        sampling: { max_new_tokens: 3, batch_size: 8 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 2, before: false }, checkpoints: { every_steps: 10_000 }, rollouts: { sample: 2 },
      }))
    }
    await page.addInitScript(() => {
      const seen = ((window as unknown as { tasks: Task[] }).tasks = [])
      new PerformanceObserver((list) => list.getEntries().forEach(({ startTime, duration }) => (seen as Task[]).push([duration, startTime]))).observe({ type: 'longtask' })
    })
    await page.goto(`${server.base}/compare?jobs=${ids.join(',')}`)
    await expect(page.locator('figure').first()).toBeVisible({ timeout: 90_000 })
    const devtools = await page.context().newCDPSession(page)
    const metric = async (name: string) => (await devtools.send('Performance.getMetrics')).metrics.find((metric) => metric.name === name)?.value ?? 0
    const heap = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      return metric('JSHeapUsedSize')
    }
    // Time in which the page's thread had a core, whoever else wanted one.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await page.waitForTimeout(8000)
    const before = await heap()
    const events = async () => (await Promise.all(ids.map((id) => server.ask(`/v1/jobs/${id}`)))).reduce((sum, job) => sum + (job.last_seq as number), 0)
    const begun = [Date.now(), await events()] as const
    await page.evaluate(() => ((window as unknown as { tasks: Task[] }).tasks.length = 0))
    const busy = [(await metric('TaskDuration')) * 1000]
    while (Date.now() - begun[0] < MINUTES * 60_000) {
      await page.waitForTimeout(LOOK)
      busy.push((await metric('TaskDuration')) * 1000)
    }
    const busiest = Math.max(...busy.slice(1).map((at, i) => at - busy[i]))
    const share = (busy[busy.length - 1] - busy[0]) / (Date.now() - begun[0])
    const rate = ((await events()) - begun[1]) / ((Date.now() - begun[0]) / 1000)
    const tasks = (await page.evaluate(() => (window as unknown as { tasks: Task[] }).tasks)).sort(([a], [b]) => a - b)
    const growth = (await heap()) - before
    const slow = tasks.slice(-5).map(([duration, at]) => `${duration} ms at ${(at / 1000).toFixed(0)} s`)
    console.log(`${MINUTES} min, ${rate.toFixed(1)} events/s; ${(100 * share).toFixed(1)} % of a core, the busiest ${LOOK} ms ${busiest.toFixed(0)} ms; heap ${(growth / 1048576).toFixed(1)} MiB more`)
    console.log(`${tasks.length} tasks lasted more than 50 ms, with what else runs here, the longest ${slow.join(', ')}`)
    expect(growth).toBeLessThan(MOST_HEAP)
    // Not how long a task waited for a core, but what it took. Judged where nothing else runs.
    if (process.env.SOAK_TIMES) expect(busiest).toBeLessThan(MOST_TASK)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
