import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { barriers, expect, PROGRAM, Server, test as base, watch } from './server'

type Site = { /** Runs no jobs itself. */ site: Server; /** Ends the agent on `box-1`, the site's other machine. */ agent: () => Promise<void> }

// Both end with their test, whatever becomes of it.
const test = base.extend<Site>({
  site: async ({}, use) => {
    const site = new Server()
    await site.start('--devices', 'none')
    await use(site)
    await site.remove()
  },
  agent: async ({ site }, use) => {
    const data = mkdtempSync(join(tmpdir(), 'anneal-ui-agent-'))
    const options = ['--host-name', 'box-1', '--pool', 'shelf', '--devices', 'simulated:4GiB', '--threads', '1', '--log', 'warn', '--data-dir', data]
    const child = spawn(PROGRAM, ['worker', '--server', site.base, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
    const kill = () => void child.kill('SIGKILL')
    process.once('exit', kill)
    const gone = new Promise<void>((done) => child.once('exit', () => done()))
    const end = async () => {
      child.kill('SIGTERM')
      const late = setTimeout(kill, 20_000)
      await gone
      clearTimeout(late)
    }
    try {
      await Promise.race([
        new Promise<void>((ready) => child.stdout.on('data', (text: Buffer) => text.includes('as `box-1`') && ready())),
        gone.then(() => Promise.reject(new Error(`the agent ended with ${child.exitCode}`))),
      ])
      await use(end)
    } finally {
      await end()
      process.off('exit', kill)
      rmSync(data, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    }
  },
})

/** Tables with something in them are usable by everybody, in both themes, and fit a narrow window. */
async function isUsable(page: Page) {
  const { width, height } = page.viewportSize()!
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await barriers(page)).toEqual([])
  }
  await page.setViewportSize({ width: 320, height: 700 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0)
  await page.setViewportSize({ width, height })
}

test('an operator makes a project by its key and says what it may use', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    await page.goto(`${server.base}/operate?tab=keys`)
    await page.getByRole('textbox', { name: 'Name' }).fill('operator')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await expect(page.locator('pre', { hasText: 'ak_' })).toBeVisible()
    const operator = (await page.locator('pre', { hasText: 'ak_' }).textContent()) ?? ''
    await page.getByRole('textbox', { name: 'Name' }).fill('colleague')
    await page.getByRole('textbox', { name: 'Project' }).fill('group-two')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByRole('button', { name: 'Limits of group-two' }).click()
    const share = page.getByLabel('Share', { exact: true })
    await share.fill('5000')
    await page.getByLabel('Unfinished jobs').fill('many')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByLabel('Unfinished jobs')).toHaveAttribute('aria-invalid', 'true')
    await page.getByLabel('Unfinished jobs').fill('3')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(share).toHaveAttribute('aria-invalid', 'true')
    await expect(share).toHaveAccessibleDescription(/1000/)
    await expect(page.getByLabel('Unfinished jobs')).toHaveAttribute('aria-invalid', 'false')
    await share.fill('2')
    await page.getByLabel('Bytes stored').fill('1073741824')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByText('The limits of group-two are set.')).toBeVisible()
    await expect(page.getByRole('row', { name: 'group-two 0 of 3' })).toContainText('of 1 GiB')
    // Whoever goes on by keyboard is where they were.
    await expect(page.getByRole('button', { name: 'Limits of group-two' })).toBeFocused()
    const project = await server.ask('/v1/projects/group-two', undefined, { Authorization: `Bearer ${operator}` })
    expect(project.limits).toEqual({ share: 2, requests_per_minute: null, max_unfinished_jobs: 3, max_devices: null, max_storage_bytes: 2 ** 30 })
    // An empty field is no limit.
    await page.getByRole('button', { name: 'Limits of group-two' }).click()
    await page.getByLabel('Bytes stored').fill('')
    await page.getByRole('button', { name: 'Set the limits' }).click()
    await expect(page.getByRole('row', { name: 'group-two 0 of 3' })).not.toContainText('GiB')
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})

test('an operator keeps jobs from another machine, empties it, and gives it jobs again', async ({ site, agent, page }) => {
  const wrong = watch(page, site)
  const status = async () => ((await site.ask('/v1/hosts')).data as { id: string; status: string }[]).find(({ id }) => id === 'box-1')?.status
  await page.goto(`${site.base}/operate`)
  await page.getByRole('link', { name: 'Machines' }).click()
  const box = page.getByRole('row', { name: /^box-1 / })
  await expect(box).toContainText(/agent.*ready.*simulated:0.*shelf/)
  await expect(page.getByRole('row', { name: /^local / })).toContainText(/server.*ready/)
  await expect(page.getByText('No cluster was asked for a machine')).toBeVisible()

  await page.getByRole('button', { name: 'Cordon box-1', exact: true }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByText('box-1 gets no new jobs')).toBeVisible()
  await expect(box).toContainText('cordoned')
  expect(await status()).toBe('cordoned')
  // Whoever goes on by keyboard is where they were.
  await expect(page.getByRole('button', { name: 'Uncordon box-1' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByText('box-1 gets jobs again')).toBeVisible()
  await expect(box).toContainText('ready')
  // What others change is seen without a word.
  await site.ask('/v1/hosts/box-1/cordon', {})
  await expect(box).toContainText('cordoned')
  await site.ask('/v1/hosts/box-1/uncordon', {})
  await expect(box).toContainText('ready')

  const job = await site.job({ name: 'long', objective: { type: 'bolt', group_size: 2 }, train: { steps: 4000, prompts_per_step: 2 }, eval: { every_steps: 0, samples: 1, pass_at: [1], prompts: 4 } })
  await expect(box.locator(`a[href="/jobs/${job}"]`)).toBeVisible()
  await expect(box).toContainText('1 busy')
  await expect.poll(async () => (await site.ask(`/v1/jobs/${job}`)).step, { timeout: 60_000 }).toBeGreaterThan(0)
  await isUsable(page)
  const drain = page.getByRole('button', { name: 'Drain box-1' })
  let drains = 0
  page.on('request', (request) => void (request.url().endsWith('/drain') && drains++))
  page.once('dialog', (dialog) => void dialog.dismiss())
  await drain.click()
  expect(await status()).toBe('ready')
  page.once('dialog', (dialog) => {
    expect.soft(dialog.message()).toContain('the job that it runs is saved and goes back to the queue')
    void dialog.accept()
  })
  await drain.click()
  await expect(box).toContainText('drained')
  expect(drains).toBe(1)
  await expect(page.getByRole('button', { name: 'Uncordon box-1' })).toBeFocused()
  expect((await site.ask(`/v1/jobs/${job}`)).status).toBe('queued')
  await page.getByRole('button', { name: 'Uncordon box-1' }).click()
  await expect(box).toContainText('1 busy')
  await site.ask(`/v1/jobs/${job}/cancel`, {})
  await site.wait(job)
  await agent()
  expect(wrong).toEqual([])
})

test('a job that no device fits has a machine asked of a cluster, and the page says what the cluster says', async ({ page }) => {
  // Slurm, as far as a launcher sees of it: a queue in which all wait.
  const slurm = mkdtempSync(join(tmpdir(), 'anneal-ui-slurm-'))
  const queue = join(slurm, 'queue')
  writeFileSync(queue, '')
  const commands = {
    sbatch: `for word; do case $word in --job-name=*) echo "\${word#--job-name=}" >> '${queue}';; esac; done; cat > /dev/null; echo 4711`,
    squeue: `while read -r name; do echo "4711|$name|PENDING|QOSMaxGRESPerUser <b>|"; done < '${queue}'`,
    scancel: `: > '${queue}'`,
  }
  for (const [name, text] of Object.entries(commands)) writeFileSync(join(slurm, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  const server = new Server(false, { PATH: `${slurm}:${process.env.PATH}` })
  const settings = join(slurm, 'settings.toml')
  writeFileSync(settings, '[[launchers]]\nname = "nodes"\ntype = "slurm"\nserver = "http://127.0.0.1"\nmemory = "4GiB"\npoll_seconds = 1\n')
  const wrong = watch(page, server)
  try {
    await server.start('--devices', 'none', '--config', settings)
    const job = await server.job({ name: 'for the cluster' })
    await page.goto(`${server.base}/operate?tab=machines`)
    const launch = page.getByRole('row', { name: /^lau_/ })
    await expect(launch).toContainText('nodes')
    await expect(launch).toContainText('Slurm says PENDING (QOSMaxGRESPerUser <b>)')
    await expect(launch).toContainText(/4711.*waiting/)
    await isUsable(page)
    await expect(launch.locator(`a[href="/jobs/${job}"]`)).toBeVisible()
    await server.ask(`/v1/jobs/${job}/cancel`, {})
    await expect(launch).toContainText(/ended.*no job needs it any more.*over/)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
    rmSync(slurm, { recursive: true, force: true })
  }
})

test('whoever administers a project sees the machines and changes none, and others are not shown them', async ({ page }) => {
  const server = new Server()
  await server.start()
  const wrong = watch(page, server)
  try {
    const operator = (await server.ask('/v1/api-keys', { name: 'operator', scopes: ['read', 'write', 'admin'] })).key as string
    const key = async (scopes: string[]) => (await server.ask('/v1/api-keys', { name: scopes.join(), project: 'group-two', scopes }, { Authorization: `Bearer ${operator}` })).key as string
    const signIn = async (secret: string) => {
      await page.getByLabel('API key').fill(secret)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await page.goto(`${server.base}/operate?tab=machines`)
    await signIn(await key(['read', 'admin']))
    await expect(page.getByRole('row', { name: /^local / })).toContainText(/server.*ready/)
    await expect(page.getByRole('button', { name: /Cordon|Drain/ })).toHaveCount(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    let asked = 0
    page.on('request', (request) => void (request.url().includes('/v1/hosts') && asked++))
    await signIn(await key(['read']))
    await expect(page.getByRole('link', { name: 'Webhooks' })).toBeVisible()
    await expect(page.getByRole('link', { name: 'Machines' })).toHaveCount(0)
    await expect(page.getByText('insufficient_scope')).toBeVisible()
    // Each refusal stands in the audit log: one is enough.
    await page.waitForTimeout(6000)
    expect(asked).toBe(1)
    expect(wrong).toEqual([])
  } finally {
    await page.close()
    await server.remove()
  }
})
