// MLflow's own page over our jobs, as examples/mlflow/page.py serves it. `scripts/ui.sh --test mlflow` alone.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from './server'

const VERSION = '3.17.2'
const FOLDER = resolve('../target/trackers')
const WHEEL = join(FOLDER, `mlflow-${VERSION}-py3-none-any.whl`)

let child: ChildProcess | undefined

test.beforeAll(() => {
  if (!existsSync(WHEEL)) execFileSync('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '-d', FOLDER, `mlflow==${VERSION}`])
})
test.afterAll(() => void child?.kill())

test('jobs are runs on the page of MLflow, which plots what they measured and lists their files', async ({ page, server }) => {
  test.setTimeout(240_000)
  const jobs = [await server.job({ name: 'sums' }), await server.job({ name: 'more sums', seed: 4 })]
  for (const id of jobs) expect((await server.wait(id)).status).toBe('succeeded')
  const own = spawn('python3', ['../examples/mlflow/page.py', server.base, '0', WHEEL], { stdio: ['ignore', 'pipe', 'inherit'] })
  child = own
  const base = await new Promise<string>((ready) => own.stdout.once('data', (text: Buffer) => ready(text.toString().trim())))
  const wrong: string[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 400 && /\/(graphql|runs|metrics|experiments|artifacts|get-artifact|static-files)\b/.test(answer.url())) wrong.push(`${answer.status()} ${answer.url()}`)
  })

  await page.goto(`${base}#/experiments/0/runs`)
  await expect(page.getByRole('link', { name: 'more sums' })).toBeVisible({ timeout: 60_000 })
  await expect(page.getByText(/^\d+ matching runs$/)).toBeVisible()
  await page.goto(`${base}#/experiments/0/runs/${jobs[0]}`)
  await expect(page.getByRole('heading', { name: 'sums', exact: true })).toBeVisible()
  await expect(page.getByText(/^Metrics \(\d\d\)$/)).toBeVisible()
  await page.goto(`${base}#/experiments/0/runs/${jobs[0]}/model-metrics`)
  await page.getByPlaceholder('Search metric charts').fill('grad/norm')
  // A point of the curve for each step.
  await expect(page.locator('.scatterlayer .points path')).toHaveCount(6, { timeout: 60_000 })
  await page.goto(`${base}#/experiments/0/runs/${jobs[0]}/artifacts`)
  await page.getByText('config.json', { exact: true }).click()
  await expect(page.getByText('"model_type"')).toBeVisible()
  expect(wrong).toEqual([])
})
