import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, watch } from './server'

const ROWS = 400_000
const PARTS = 3

test('a large file goes on where it stopped, after a broken connection and after a reload', async ({ page, server }) => {
  test.setTimeout(180_000)
  const folder = mkdtempSync(join(tmpdir(), 'anneal-rows-'))
  try {
    const file = join(folder, 'sums.jsonl')
    writeFileSync(file, Array.from({ length: ROWS }, (_, i) => `{"question": "${String(i).padStart(60, '0')}+1=", "answer": "${i + 1}"}`).join('\n'))
    const wrong = watch(page, server)
    let [sent, breaks] = [0, 2]
    await page.route('**/v1/uploads/*/parts', async (route) => {
      // The connection breaks twice at the second part; then nothing comes back until the page is loaded again.
      if (sent === 1 && breaks-- > 0) return route.abort('connectionreset')
      if (sent === 1 && breaks === -1) return
      sent += 1
      await route.continue()
    })
    await page.goto(`${server.base}/data`)
    await page.getByLabel('choose one').setInputFiles(file)
    await page.getByLabel('Column of the prompt').selectOption('question')
    await page.getByRole('button', { name: 'Upload' }).click()
    await expect.poll(() => breaks, { timeout: 60_000 }).toBe(-1)
    expect(sent).toBe(1)

    await page.reload()
    breaks = -2
    await page.getByLabel('choose one').setInputFiles(file)
    await expect(page.getByText(/\d+ % of it arrived before; it goes on there/)).toBeVisible()
    await page.getByLabel('Column of the prompt').selectOption('question')
    await page.getByRole('button', { name: 'Go on' }).click()
    await expect(page.getByRole('heading', { name: 'sums', exact: true })).toBeVisible({ timeout: 60_000 })
    expect(sent).toBe(PARTS)
    await expect(page.getByRole('row', { name: /sums/ }).getByText(ROWS.toLocaleString('en-US')).first()).toBeVisible()
    await expect(page.getByRole('region', { name: 'Prompts' }).getByRole('row')).toHaveCount(21)
    expect((await server.ask('/v1/files')).data).toEqual([])

    // Whoever stops lets go of what has arrived.
    await page.getByLabel('choose one').setInputFiles(file)
    const remembered = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('upload')))
    await expect(page.getByRole('button', { name: 'Upload' })).toBeVisible()
    await expect(page.getByText(/arrived before/)).toHaveCount(0)
    await page.unroute('**/v1/uploads/*/parts')
    const held = page.route('**/v1/uploads/*/parts', () => {})
    await page.getByRole('button', { name: 'Upload' }).click()
    const cancelled = page.waitForResponse(/\/v1\/uploads\/[^/]+\/cancel$/)
    await page.getByRole('button', { name: 'Stop' }).click()
    expect((await cancelled).ok()).toBe(true)
    await expect(page.getByRole('button', { name: 'Upload' })).toBeVisible()
    expect(await remembered()).toEqual([])

    // The answer that says that it is whole is lost once; and what a wrong column refuses is not sent again.
    await held
    await page.unroute('**/v1/uploads/*/parts')
    let [parts, lost] = [0, false]
    await page.route('**/v1/uploads/*/parts', (route) => ((parts += 1), route.continue()))
    await page.route('**/v1/uploads/*/complete', async (route) => {
      if (lost) return route.continue()
      lost = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await page.getByRole('textbox', { name: 'Name' }).fill('second')
    await page.getByLabel('Column of the prompt').selectOption('answer')
    await page.getByLabel('Column of the answer').selectOption('')
    await page.route('**/v1/datasets?*', (route) => route.continue({ url: route.request().url().replace('prompt_column=answer', 'prompt_column=nowhere') }), { times: 1 })
    await page.getByRole('button', { name: 'Upload' }).click()
    await expect(page.getByRole('alert')).toBeVisible({ timeout: 60_000 })
    await page.getByLabel('Column of the prompt').selectOption('question')
    await page.getByRole('button', { name: 'Go on' }).click()
    await expect(page.getByRole('heading', { name: 'second', exact: true })).toBeVisible({ timeout: 60_000 })
    expect([parts, lost]).toEqual([PARTS, true])
    expect(await remembered()).toEqual([])
    expect((await server.ask('/v1/files')).data).toEqual([])
    expect(wrong).toEqual([])
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    rmSync(folder, { recursive: true })
  }
})
